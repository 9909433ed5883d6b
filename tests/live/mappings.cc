// SPDX-License-Identifier: Apache-2.0
//
// A program whose code comes and goes. At the bottom of each stack one call instruction calls in turn collect(), which asks
// libgcc's unwinder, and the probed function; what lies where is read after each change. Writes each stack of libgcc's as
// places in files, and how often it was met.
//
//   mappings FILE LIBRARY FUNCTION MODE [PLUGIN...]
//
// swap: loads one plugin after the other to the same addresses, 200 times, a few calls at once and a few a moment later;
// swap-attached: after a line on standard input. swap-stopped: likewise; the line is the recorder's number, and one plugin takes the
// other's place while the recorder is stopped, so that it never sees the other one.
// late: loads all plugins, calls in each at once and for half a second. fork: children that call at once, 60 of them, some of which
// load a plugin. hand: the code of one plugin over that of another, by mmap, without the loader; a call some seconds later. wait:
// loads all, and calls at once after a line on standard input. exec: calls, then executes itself in mode late. many: 4,500 children
// that call and end. gone: another file takes the name of the loaded plugin, then there is none.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <csignal>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>
#include <vector>

typedef long (*leaf_fn)(long);
typedef void (*plugin_fn)(leaf_fn *, int, long);

struct mapping {
	uintptr_t start, end, offset;
	std::string path;
};

static std::vector<mapping> mappings;
static std::map<std::string, long> stacks;
static leaf_fn leaves[2];

static void read_mappings()
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096], path[4096];
	unsigned long start, end, offset;

	mappings.clear();
	while (f && fgets(line, sizeof(line), f)) {
		path[0] = 0;
		if (strstr(line, " r-xp ") && sscanf(line, "%lx-%lx r-xp %lx %*s %*s %4095s", &start, &end, &offset, path) >= 3)
			mappings.push_back({ start, end, offset, path });
	}
	fclose(f);
}

static std::string place_of(uintptr_t address)
{
	for (const mapping &m : mappings)
		if (address - 1 >= m.start && address - 1 < m.end)
			return m.path + " " + std::to_string(address - 1 - m.start + m.offset);
	return "? " + std::to_string(address);
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *out)
{
	if (_Unwind_GetIP(context))
		static_cast<std::vector<uintptr_t> *>(out)->push_back(_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

__attribute__((noinline)) static long collect(long x)
{
	std::vector<uintptr_t> stack;
	std::string text;

	_Unwind_Backtrace(add_frame, &stack);
	for (size_t i = 1; i < stack.size(); i++)
		text += (i > 1 ? "|" : "") + place_of(stack[i]);
	stacks[text]++;
	return x;
}

static void call(plugin_fn plugin)
{
	plugin(leaves, 2, 1);
}

static plugin_fn load(const char *path, void **handle)
{
	*handle = dlopen(path, RTLD_NOW);
	plugin_fn plugin = *handle ? (plugin_fn)dlsym(*handle, "plugin_call") : nullptr;

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	read_mappings();
	return plugin;
}

static void write_stacks(const char *name)
{
	FILE *out = fopen(name, "a");

	for (auto &stack : stacks)
		fprintf(out, "%ld|%s\n", stack.second, stack.first.c_str());
	fclose(out);
	stacks.clear();
}

static double now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void swap(char **plugins, int n)
{
	uintptr_t before = 0;
	int same = 0;

	for (int i = 0; i < 200; i++) {
		void *handle;
		plugin_fn plugin = load(plugins[i % n], &handle);

		same += (uintptr_t)plugin == before;
		before = (uintptr_t)plugin;
		for (int k = 0; k < 20; k++)
			call(plugin);
		usleep(i % 10 ? 0 : 60000);
		for (int k = 0; k < 20; k++)
			call(plugin);
		dlclose(handle);
	}
	printf("same %d\n", same);
}

static plugin_fn replace(void **handle, const char *by)
{
	dlclose(*handle);
	return load(by, handle);
}

static void call_often(plugin_fn plugin)
{
	for (int n = 0; n < 20; n++)
		call(plugin);
}

// The first plugin once more, which the recorder's list has, and then the other one at its place while the recorder looks at nothing.
static void swap_unseen(char **plugins, pid_t recorder)
{
	for (int i = 0; i < 20; i++) {
		void *handle;

		load(plugins[0], &handle);
		for (int k = 0; k < 2; k++) {
			usleep(60000); // the list is made, and holds again
			kill(recorder, k ? SIGSTOP : SIGCONT);
			plugin_fn plugin = replace(&handle, plugins[k]);
			usleep(i * 50); // the recorder is about to look
			call_often(plugin);
		}
		kill(recorder, SIGCONT);
		dlclose(handle);
	}
}

static void late(char **plugins, int n)
{
	std::vector<plugin_fn> loaded;
	void *handle;

	for (int i = 0; i < n; i++) {
		loaded.push_back(load(plugins[i], &handle));
		call(loaded.back());
	}
	for (double end = now() + 0.5; now() < end; usleep(2000))
		for (plugin_fn plugin : loaded)
			call(plugin);
}

static void fork_children(const char *out, char **plugins, int n)
{
	void *handle;
	plugin_fn plugin = load(plugins[0], &handle);

	call(plugin);
	usleep(100000);
	for (int i = 0; i < 60; i++) {
		pid_t child = fork();

		if (child == 0) {
			stacks.clear();
			call(plugin);
			if (i % 3 == 1)
				call(load(plugins[1 % n], &handle));
			call(plugin);
			write_stacks(out);
			_exit(0);
		}
		waitpid(child, nullptr, 0);
	}
}

static pid_t wait_for_recorder()
{
	char line[80];

	leaves[1](0); // which loads the driver
	printf("%d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	return atoi(line);
}

static void wait_and_call(char **plugins, int n)
{
	std::vector<plugin_fn> loaded;
	void *handle;

	for (int i = 0; i < n; i++)
		loaded.push_back(load(plugins[i], &handle));
	wait_for_recorder();
	for (int i = 0; i < 50; i++)
		for (plugin_fn plugin : loaded)
			call(plugin);
}

static void execute(char **argv)
{
	static char mode[] = "late";
	void *handle;
	plugin_fn plugin = load(argv[5], &handle);

	usleep(100000);
	for (int i = 0; i < 10; i++)
		call(plugin);
	write_stacks(argv[1]);
	argv[4] = mode;
	usleep(300000); // what is read of it after that has no names any more
	execv("/proc/self/exe", argv);
}

static void many_children(const char *out, char **plugins)
{
	void *handle;
	plugin_fn plugin = load(plugins[0], &handle);

	usleep(100000);
	for (int i = 0; i < 4500; i += 10) {
		for (int k = 0; k < 10; k++)
			if (fork() == 0) {
				stacks.clear();
				call(plugin);
				write_stacks(out);
				_exit(0);
			}
		for (int k = 0; k < 10; k++)
			wait(nullptr);
	}
	call(plugin);
}

static void replaced(const char *out, char **plugins)
{
	std::string name = std::string(out) + ".so", other = name + ".new";
	void *handle;

	if (system(("cp " + std::string(plugins[0]) + " " + name + " && cp " + plugins[1] + " " + other).c_str()))
		exit(1);
	plugin_fn plugin = load(name.c_str(), &handle);
	rename(other.c_str(), name.c_str());
	usleep(100000);
	for (int i = 0; i < 10; i++)
		call(plugin);
	unlink(name.c_str());
	plugin = load(plugins[1], &handle);
	usleep(100000);
	for (int i = 0; i < 10; i++)
		call(plugin);
	dlclose(handle);
	load(plugins[1], &handle);
	usleep(100000);
}

static void by_hand(char **plugins, int n)
{
	void *handle;
	plugin_fn plugin = load(plugins[0], &handle);

	call(plugin);
	for (int i = 0; i < 3; i++) {
		usleep(2500000);
		call(plugin);
		for (const mapping &m : std::vector<mapping>(mappings)) {
			if (m.path != plugins[i % n])
				continue;
			int fd = open(plugins[(i + 1) % n], O_RDONLY);
			mmap((void *)m.start, m.end - m.start, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, (off_t)m.offset);
			close(fd);
		}
		read_mappings();
	}
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 1;
	void *library = dlopen(argv[2], RTLD_NOW);
	char **plugins = argv + 5;
	std::string mode = argv[4];

	leaves[0] = collect;
	leaves[1] = library ? (leaf_fn)dlsym(library, argv[3]) : nullptr;
	if (!leaves[1])
		return 1;
	if (mode == "swap")
		swap(plugins, argc - 5);
	else if (mode == "late")
		late(plugins, argc - 5);
	else if (mode == "wait")
		wait_and_call(plugins, argc - 5);
	else if (mode == "swap-attached") {
		wait_for_recorder();
		swap(plugins, argc - 5);
	} else if (mode == "swap-stopped")
		swap_unseen(plugins, wait_for_recorder());
	else if (mode == "exec")
		execute(argv);
	else if (mode == "many")
		many_children(argv[1], plugins);
	else if (mode == "gone")
		replaced(argv[1], plugins);
	else if (mode == "fork")
		fork_children(argv[1], plugins, argc - 5);
	else if (mode == "hand")
		by_hand(plugins, argc - 5);
	write_stacks(argv[1]);
	printf("done\n");
	return 0;
}
