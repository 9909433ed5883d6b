/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies Python source files by their paths. Installed code is what lies in a folder of
 * packages (site-packages, Debian's dist-packages) or of Python's library (lib/python3.N);
 * everything else with a path is a person's own. The two tables of packages below are knowledge
 * about the field, not about one program: a package that stands in neither is one whose lines a
 * person wants to see.
 */
#include "lib/world/python_code.h"

#include <stdbool.h>
#include <stddef.h>

/* They compute what others ask of them. Their lines are the same in every program, so the caller's
 * line is the news. */
static const char *const libraries[] = {
	"apex",
	"bitsandbytes",
	"causal_conv1d",
	"cuda",
	"cupy",
	"cupyx",
	"deep_gemm",
	"einops",
	"flash_attn",
	"flashinfer",
	"functorch",
	"jax",
	"jaxlib",
	"liger_kernel",
	"mamba_ssm",
	"numba",
	"numba_cuda",
	"numpy",
	"nvidia",
	"opt_einsum",
	"pycuda",
	"pynvml",
	"scipy",
	"tensorflow",
	"torch",
	"torchao",
	"torchaudio",
	"torchvision",
	"transformer_engine",
	"triton",
	"triton_kernels",
	"xformers",
};

/* They run what others wrote: from the loop of a server, a test runner, a launcher or a notebook
 * outward nothing is said about the program. Modules of a package are given by their path. */
static const char *const runners[] = {
	"IPython",
	"_pytest",
	"absl",
	"accelerate/commands",
	"aiohttp",
	"anyio",
	"asgiref",
	"billiard",
	"celery",
	"click",
	"cloudpickle",
	"coverage",
	"debugpy",
	"deepspeed/launcher",
	"dill",
	"django",
	"fastapi",
	"fire",
	"flask",
	"grpc",
	"gunicorn",
	"hydra",
	"hypercorn",
	"ipykernel",
	"joblib",
	"jupyter_client",
	"kombu",
	"line_profiler",
	"loky",
	"mpi4py",
	"nbclient",
	"opentelemetry",
	"papermill",
	"pluggy",
	"prometheus_fastapi_instrumentator",
	"pydevd",
	"pytest",
	"ray",
	"rich_click",
	"starlette",
	"streamlit",
	"sentry_sdk",
	"torch/distributed/elastic",
	"torch/distributed/launch",
	"torch/distributed/launcher",
	"torch/distributed/run",
	"torch/multiprocessing",
	"torchrun",
	"tornado",
	"typer",
	"uvicorn",
	"uvloop",
	"werkzeug",
};

/* Modules of Python's library that start a program or a process for somebody else. */
static const char *const starters[] = {
	"multiprocessing/forkserver",
	"multiprocessing/resource_tracker",
	"multiprocessing/spawn",
	"runpy",
};

/* What people type into: the only names in angle brackets that are not a program's work. */
static const char *const typed[] = {
	"<doctest ", "<ipython-input-", "<magic-timeit>", "<python-input-", "<timed ",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Whether a path relative to its folder of modules is that module or lies in that package. */
static bool is_within(struct bytes path, const char *module)
{
	size_t n = strlen(module);

	return bytes_begin_with(path, module) &&
	       (path.n == n || path.p[n] == '/' || path.p[n] == '.');
}

static bool is_within_any(struct bytes path, const char *const *modules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_within(path, modules[i]))
			return true;
	return false;
}

static struct bytes skip_bytes(struct bytes text, size_t n)
{
	return (struct bytes){ text.p + n, text.n - n };
}

/* What follows the last such folder on the path; {NULL, 0}: there is none. */
static struct bytes below_folder(struct bytes path, const char *folder)
{
	struct bytes below = { 0 };
	size_t n = strlen(folder);
	const char *at;

	while (path.n && (at = memmem(path.p, path.n, folder, n)) != NULL)
		below = path = skip_bytes(path, (size_t)(at - path.p) + n);
	return below;
}

/* The same for Python's library: lib/python3.12/, Debian's lib/python3/, python3.13t without its
 * lock, a zip file. */
static struct bytes below_stdlib(struct bytes path)
{
	static const char *const folders[] = { "/lib/python3", "/lib64/python3", "/lib/pypy3" };

	for (size_t i = 0; i < COUNT(folders); i++) {
		struct bytes rest = below_folder(path, folders[i]);

		while (rest.n && ((rest.p[0] >= '0' && rest.p[0] <= '9') || rest.p[0] == '.' ||
				  rest.p[0] == 't'))
			rest = skip_bytes(rest, 1);
		if (bytes_begin_with(rest, "zip"))
			rest = skip_bytes(rest, 3);
		if (rest.n && rest.p[0] == '/')
			return skip_bytes(rest, 1);
	}
	return (struct bytes){ 0 };
}

/* Graphs that compilers turned into Python: torch's inductor names a file by c and 51 digits of
 * base 32. */
static bool is_compiled(struct bytes path)
{
	static const char *const caches[] = { "/torchinductor_", "/torch_compile_cache/",
					      "/torch_compile_debug/", "/.triton/cache/" };
	struct bytes name = bytes_file_name(path);
	size_t digits = 0;

	for (size_t i = 0; i < COUNT(caches); i++)
		if (memmem(path.p, path.n, caches[i], strlen(caches[i])))
			return true;
	if (name.n != 55 || name.p[0] != 'c' || memcmp(name.p + 52, ".py", 3) != 0)
		return false;
	while (digits < 52 && ((name.p[digits] >= 'a' && name.p[digits] <= 'z') ||
			       (name.p[digits] >= '2' && name.p[digits] <= '7')))
		digits++;
	return digits == 52;
}

/* A console script: what pip and uv write into bin for a package's main function has no suffix. */
static bool is_console_script(struct bytes path)
{
	struct bytes name = bytes_file_name(path);

	return path.n >= name.n + 5 && memcmp(path.p + path.n - name.n - 5, "/bin/", 5) == 0 &&
	       !memchr(name.p, '.', name.n);
}

/* The same for a folder of packages. */
static struct bytes below_packages(struct bytes path)
{
	struct bytes below = below_folder(path, "/site-packages/");

	return below.n ? below : below_folder(path, "/dist-packages/");
}

struct bytes python_package_of(struct bytes file)
{
	bool bracketed = file.n && file.p[0] == '<';
	struct bytes package = bracketed ? (struct bytes){ 0 } : below_packages(file);
	const char *slash = package.n ? memchr(package.p, '/', package.n) : NULL;

	if (slash)
		package.n = (size_t)(slash - package.p);
	else if (package.n > 3 && memcmp(package.p + package.n - 3, ".py", 3) == 0)
		package.n -= 3;
	return package;
}

static enum python_code_kind kind_of_package(struct bytes path)
{
	if (is_within_any(path, runners, COUNT(runners)))
		return PYTHON_RUNNER;
	return is_within_any(path, libraries, COUNT(libraries)) ? PYTHON_LIBRARY : PYTHON_PACKAGE;
}

static enum python_code_kind kind_of_bracketed(struct bytes file)
{
	if (bytes_equal(file, bytes_of("<string>")) || bytes_equal(file, bytes_of("<stdin>")))
		return PYTHON_ENTRY;
	for (size_t i = 0; i < COUNT(typed); i++)
		if (bytes_begin_with(file, typed[i]))
			return PYTHON_OWN;
	return PYTHON_GENERATED;
}

enum python_code_kind python_code_of(struct bytes file)
{
	struct bytes below;

	if (!file.n)
		return PYTHON_GENERATED;
	if (file.p[0] == '<')
		return kind_of_bracketed(file);
	below = below_packages(file);
	if (below.n)
		return kind_of_package(below);
	if (is_compiled(file))
		return PYTHON_GENERATED;
	below = below_stdlib(file);
	if (below.n)
		return is_within_any(below, starters, COUNT(starters)) ? PYTHON_STARTER
								       : PYTHON_STDLIB;
	return is_console_script(file) ? PYTHON_ENTRY : PYTHON_OWN;
}
