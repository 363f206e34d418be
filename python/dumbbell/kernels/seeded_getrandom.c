/*
 * Replaces libc's getrandom(), so that the seed determines a guest's random numbers.
 *
 * User-Mode Linux fills its random pool from the host. Two runs of one
 * experiment would then differ in their initial sequence numbers, hashes and
 * netem losses. Preloaded, this library answers with a stream that is a function
 * of DUMBBELL_SEED alone.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t state;
static int seeded;

static void die(const char *problem)
{
	fprintf(stderr, "seeded_getrandom: %s; right: DUMBBELL_SEED=0123456789abcdef\n", problem);
	abort();
}

/* Without a seed it aborts: a run that silently used the host's random numbers would look
 * repeatable and not be. */
static void seed(void)
{
	const char *text = getenv("DUMBBELL_SEED");

	if (!text)
		die("the environment variable DUMBBELL_SEED is not set");
	if (strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
		die("DUMBBELL_SEED is not 16 hexadecimal digits");
	state = strtoull(text, NULL, 16);
	seeded = 1;
}

/* splitmix64: every seed, zero too, gives a full-period stream. */
static uint64_t next(void)
{
	uint64_t word = state += 0x9e3779b97f4a7c15u;

	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
	word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
	return word ^ (word >> 31);
}

static void fill(unsigned char *out, size_t length)
{
	size_t done = 0;

	if (!seeded)
		seed();
	while (done < length) {
		uint64_t word = next();
		size_t part = length - done < sizeof word ? length - done : sizeof word;

		memcpy(out + done, &word, part);
		done += part;
	}
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	(void)flags;
	fill(buffer, length);
	return (ssize_t)length;
}

int getentropy(void *buffer, size_t length)
{
	if (length > 256) {
		errno = EIO;
		return -1;
	}
	fill(buffer, length);
	return 0;
}
