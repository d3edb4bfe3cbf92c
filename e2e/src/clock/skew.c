/* A clock that goes wrong: the time of day of the process into which this is loaded is CLOCK_SKEW_SECONDS off. Its other clocks,
   by which it waits, are right, as on a machine that keeps the wrong time. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    const char *skew = getenv("CLOCK_SKEW_SECONDS");
    if (!failed && clock == CLOCK_REALTIME && skew)
        now->tv_sec += atol(skew);
    return failed;
}
