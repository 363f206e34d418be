/*
 * Do vector registers outlive what may disturb them? Two processes of two threads each fill theirs with numbers of
 * their own, let others run, take signals whose handler spoils them, and look. Says how often they were as they were.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 300

typedef unsigned long long number;

/* Makes one system call between filling and reading; nothing of the compiler's lies between. */
static int kept(number mine, long call, long first, long second)
{
	number given[4] = { mine, ~mine, mine * 3, mine * 5 }, found[4] = { 0 };
	long result;

	__asm__ volatile("movdqu (%[given]), %%xmm8\n\tmovdqu 16(%[given]), %%xmm15\n\tsyscall\n\t"
			 "movdqu %%xmm8, (%[found])\n\tmovdqu %%xmm15, 16(%[found])"
			 : "=a"(result)
			 : "a"(call), "D"(first), "S"(second), [given] "r"(given), [found] "r"(found)
			 : "rcx", "r11", "memory", "xmm8", "xmm15");
	return memcmp(given, found, sizeof given) == 0;
}

static void spoil(int signal)
{
	(void)signal;
	__asm__ volatile("pxor %%xmm8, %%xmm8\n\tpxor %%xmm15, %%xmm15" ::: "xmm8", "xmm15");
}

static void *look(void *argument)
{
	number seed = (number)argument;
	long well = 0;

	for (int round = 0; round < ROUNDS; round++) {
		number mine = seed * 1000003 + round;
		char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		well += kept(mine, SYS_sched_yield, 0, 0);
		well += kept(mine, SYS_getpid, 0, 0);
		well += kept(mine, SYS_tkill, syscall(SYS_gettid), SIGUSR1);
		page[0] = 1;
		well += kept(mine, SYS_munmap, (long)page, 8192);
	}
	return (void *)well;
}

int main(void)
{
	pid_t child;
	pthread_t other;
	void *others;
	long well;
	int status;

	signal(SIGUSR1, spoil);
	child = fork();
	pthread_create(&other, NULL, look, (void *)(child ? 1L : 2L));
	well = (long)look((void *)(child ? 3L : 4L));
	pthread_join(other, &others);
	well += (long)others;
	if (!child)
		_exit(well == 8 * ROUNDS ? 0 : 1);
	waitpid(child, &status, 0);
	printf("%ld of %d, %d\n", well, 8 * ROUNDS, WEXITSTATUS(status));
	return 0;
}
