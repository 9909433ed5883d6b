// SPDX-License-Identifier: Apache-2.0
//
// A program built without frame pointers whose threads sleep in the C library in many ways, each in a function of its own name:
// by_NAME, called by sleep_in, called by thread_main. Prints the names.
//
//   sleeps LIBRARY FUNCTION   calls that function first

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define SLEEP_US 60000

static volatile int sink;
static int pipe_read, pipe_poll, pipe_select, pipe_epoll, pipe_recv;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int word;
static std::vector<int> ends;

static int reading_end()
{
	int p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p))
		exit(1);
	ends.push_back(p[1]);
	return p[0];
}

#define KIND(name, ...)                                 \
	NOINLINE static void by_##name(long x)          \
	{                                               \
		volatile char room[48] = { (char)x };   \
		long kept = sink + x;                   \
		__VA_ARGS__;                            \
		sink = sink + (int)kept + room[0];      \
	}

KIND(read, { char c; sink += (int)read(pipe_read, &c, 1); })
KIND(recv, { char c; sink += (int)recv(pipe_recv, &c, 1, 0); })
KIND(poll, { struct pollfd p = { pipe_poll, POLLIN, 0 }; sink += poll(&p, 1, -1); })
KIND(select, { fd_set s; FD_ZERO(&s); FD_SET(pipe_select, &s); sink += select(pipe_select + 1, &s, nullptr, nullptr, nullptr); })
KIND(epoll, {
	int e = epoll_create1(0);
	struct epoll_event v = {};
	v.events = EPOLLIN;
	epoll_ctl(e, EPOLL_CTL_ADD, pipe_epoll, &v);
	sink += epoll_wait(e, &v, 1, -1);
	close(e);
})
KIND(cond_wait, { pthread_mutex_lock(&cond_mutex); pthread_cond_wait(&cond, &cond_mutex); pthread_mutex_unlock(&cond_mutex); })
KIND(mutex_lock, { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); })
KIND(rwlock, { pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock); })
KIND(barrier, { sink += pthread_barrier_wait(&barrier); })
KIND(sem_wait, { sink += sem_wait(&semaphore); })
KIND(nanosleep, { struct timespec t = { 0, SLEEP_US * 1000l }; sink += nanosleep(&t, nullptr); })
KIND(usleep, { sink += usleep(SLEEP_US); })
KIND(futex, { sink += (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0); })
KIND(sigtimedwait, { sigset_t s; struct timespec t = { 0, SLEEP_US * 1000l }; sigemptyset(&s); sigaddset(&s, SIGUSR2); sink += sigtimedwait(&s, nullptr, &t); })
KIND(join, { std::thread t([] { usleep(SLEEP_US); }); t.join(); })

struct kind {
	const char *name;
	void (*act)(long);
};
static const struct kind kinds[] = {
	{ "by_read", by_read },		{ "by_recv", by_recv },		{ "by_poll", by_poll },
	{ "by_select", by_select },	{ "by_epoll", by_epoll },	{ "by_cond_wait", by_cond_wait },
	{ "by_mutex_lock", by_mutex_lock }, { "by_rwlock", by_rwlock },	{ "by_barrier", by_barrier },
	{ "by_sem_wait", by_sem_wait }, { "by_nanosleep", by_nanosleep }, { "by_usleep", by_usleep },
	{ "by_futex", by_futex },	{ "by_sigtimedwait", by_sigtimedwait }, { "by_join", by_join },
};

NOINLINE static void sleep_in(const struct kind *k)
{
	k->act(3);
	sink = sink + 1;
}

// Whether a thread besides the first one has not fallen asleep yet.
static bool others_run()
{
	bool run = false;
	DIR *tasks = opendir("/proc/self/task");

	for (struct dirent *d = tasks ? readdir(tasks) : nullptr; d; d = readdir(tasks)) {
		std::ifstream stat(std::string("/proc/self/task/") + d->d_name + "/stat");
		std::string text((std::istreambuf_iterator<char>(stat)), {});
		size_t end = text.rfind(')');

		run |= atoi(d->d_name) > 0 && atoi(d->d_name) != getpid() &&
		       end != std::string::npos && text[end + 2] == 'R';
	}
	closedir(tasks);
	return run;
}

extern "C" NOINLINE void *thread_main(void *k)
{
	sleep_in((const struct kind *)k);
	sink = sink + 1;
	return nullptr;
}

int main(int argc, char **argv)
{
	std::vector<pthread_t> threads;

	// What is recorded is programs that use such a library.
	if (argc > 2) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void *function = library ? dlsym(library, argv[2]) : nullptr;

		if (!function)
			return 1;
		((int (*)())function)();
	}

	pipe_read = reading_end();
	pipe_recv = reading_end();
	pipe_poll = reading_end();
	pipe_select = reading_end();
	pipe_epoll = reading_end();
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, nullptr, 2);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	for (const struct kind &k : kinds) {
		pthread_t t;

		pthread_create(&t, nullptr, thread_main, (void *)&k);
		threads.push_back(t);
		printf("%s\n", k.name);
	}
	fflush(stdout);
	while (others_run())
		usleep(1000);
	usleep(SLEEP_US);
	for (int end : ends)
		sink += (int)write(end, "x", 1);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_unlock(&rwlock);
	pthread_barrier_wait(&barrier);
	sem_post(&semaphore);
	syscall(SYS_futex, &word, FUTEX_WAKE, 9, nullptr, nullptr, 0);
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
	return 0;
}
