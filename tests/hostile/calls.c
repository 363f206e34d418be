/* Preloaded into a command under test: says which names it makes or opens for writing, and lets one call fail or kill.

   CALLS_UNDER   only calls that concern paths below this folder count
   CALLS_LOG     a file that gets a line a call: its kind, a space, the path
   CALLS_KIND    only calls of this kind count for CALLS_NTH; empty: of every kind
   CALLS_NTH     the call that fails, from 1
   CALLS_ERROR   its errno; 0: the process is killed before the call
   CALLS_LIMIT_S the process ends by SIGALRM so long after its first call

   The variables are read at each call: the process may set them after it has started. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int count, limited;

static const char *said(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

/* The absolute path of a name in a folder; of the folder or file itself where the name is empty. */
static void path_of(char *path, size_t size, int folder, const char *name)
{
	char link[64], place[PATH_MAX] = "";
	ssize_t length;

	if (name[0] == '/' && strncmp(name, "/proc/", 6) != 0) {
		snprintf(path, size, "%s", name);
		return;
	}
	if (name[0] == '/') {
		/* Through a descriptor: its folder, then the rest. */
		char begin[PATH_MAX], *end;
		snprintf(begin, sizeof begin, "%s", name);
		end = strstr(begin, "/fd/");
		end = end ? strchr(end + 4, '/') : NULL;
		if (end)
			*end = 0;
		length = readlink(begin, place, sizeof place - 1);
		if (length > 0)
			snprintf(path, size, "%.*s/%s", (int)length, place, end ? end + 1 : "");
		else
			snprintf(path, size, "%s", name);
		return;
	}
	if (folder == AT_FDCWD)
		snprintf(link, sizeof link, "/proc/self/cwd");
	else
		snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
	length = readlink(link, place, sizeof place - 1);
	snprintf(path, size, "%.*s%s%s", length > 0 ? (int)length : 0, place, name[0] ? "/" : "", name);
}

/* Whether this call fails. */
static int fails(const char *kind, int folder, const char *name)
{
	char path[2 * PATH_MAX];
	const char *under = said("CALLS_UNDER"), *only = said("CALLS_KIND"), *log = said("CALLS_LOG");
	int nth = atoi(said("CALLS_NTH")), error = atoi(said("CALLS_ERROR")), before = errno;

	if (!under[0])
		return 0;
	if (said("CALLS_LIMIT_S")[0] && !__atomic_exchange_n(&limited, 1, __ATOMIC_SEQ_CST))
		alarm(atoi(said("CALLS_LIMIT_S")));
	path_of(path, sizeof path, folder, name);
	errno = before;
	if (strncmp(path, under, strlen(under)) != 0)
		return 0;
	if (log[0]) {
		char line[2 * PATH_MAX + 32];
		int length = snprintf(line, sizeof line, "%s %s\n", kind, path);
		int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		syscall(SYS_write, file, line, length);
		syscall(SYS_close, file);
	}
	if (only[0] && strcmp(only, kind) != 0)
		return 0;
	if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) != nth)
		return 0;
	if (!error)
		syscall(SYS_kill, getpid(), SIGKILL);
	errno = error;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(function)                                                                             \
	int function(const char *name, int flags, ...)                                             \
	{                                                                                          \
		va_list rest;                                                                      \
		va_start(rest, flags);                                                             \
		mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;            \
		va_end(rest);                                                                      \
		if (fails(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? "make" : "open", AT_FDCWD, name)) \
			return -1;                                                                 \
		return REAL(function)(name, flags, mode);                                          \
	}

#define OPENAT(function)                                                                           \
	int function(int folder, const char *name, int flags, ...)                                 \
	{                                                                                          \
		va_list rest;                                                                      \
		va_start(rest, flags);                                                             \
		mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;            \
		va_end(rest);                                                                      \
		if (fails(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? "make" : "open", folder, name)) \
			return -1;                                                                 \
		return REAL(function)(folder, name, flags, mode);                                  \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define CALL(kind, result, function, parameters, folder, name, arguments)                          \
	result function parameters                                                                 \
	{                                                                                          \
		return fails(kind, folder, name) ? -1 : REAL(function) arguments;                  \
	}

CALL("mkdir", int, mkdir, (const char *name, mode_t mode), AT_FDCWD, name, (name, mode))
CALL("mkdir", int, mkdirat, (int folder, const char *name, mode_t mode), folder, name, (folder, name, mode))
CALL("remove", int, unlink, (const char *name), AT_FDCWD, name, (name))
CALL("remove", int, unlinkat, (int folder, const char *name, int flags), folder, name, (folder, name, flags))
CALL("remove", int, rmdir, (const char *name), AT_FDCWD, name, (name))
CALL("rename", int, rename, (const char *from, const char *to), AT_FDCWD, to, (from, to))
CALL("rename", int, renameat, (int in, const char *from, int folder, const char *to), folder, to, (in, from, folder, to))
CALL("rename", int, renameat2, (int in, const char *from, int folder, const char *to, unsigned flags), folder, to,
     (in, from, folder, to, flags))
CALL("link", int, link, (const char *from, const char *to), AT_FDCWD, to, (from, to))
CALL("link", int, linkat, (int in, const char *from, int folder, const char *to, int flags), folder, to,
     (in, from, folder, to, flags))
CALL("write", ssize_t, write, (int file, const void *bytes, size_t size), file, "", (file, bytes, size))
CALL("write", ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), file, "", (file, bytes, size, at))
CALL("write", ssize_t, pwrite64, (int file, const void *bytes, size_t size, off64_t at), file, "",
     (file, bytes, size, at))
CALL("write", ssize_t, writev, (int file, const struct iovec *parts, int many), file, "", (file, parts, many))
CALL("truncate", int, ftruncate, (int file, off_t size), file, "", (file, size))
CALL("truncate", int, ftruncate64, (int file, off64_t size), file, "", (file, size))
CALL("sync", int, fsync, (int file), file, "", (file))
CALL("sync", int, fdatasync, (int file), file, "", (file))
