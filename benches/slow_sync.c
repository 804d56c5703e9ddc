/* Delays each fsync and fdatasync of a file or directory below SLOW_SYNC_BELOW by SLOW_SYNC_MS milliseconds: a library
 * for LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void delay(int fd) {
  const char *below = getenv("SLOW_SYNC_BELOW"), *ms = getenv("SLOW_SYNC_MS");
  char link[64], path[PATH_MAX];
  if (!below || !ms) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (strncmp(path, below, strlen(below))) return;
  struct timespec left = {atol(ms) / 1000, atol(ms) % 1000 * 1000000};
  while (nanosleep(&left, &left)) continue;
}

static int slow(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  delay(fd);
  return real(fd);
}

int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
