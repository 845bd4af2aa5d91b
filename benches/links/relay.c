// A link with a delay: passes packets between two TUN devices, each so many microseconds after it came.
//
//   cc -O2 -pthread relay.c -o relay && ./relay NAME_A NAME_B MICROSECONDS
//
// Prints "ready" once both devices are there; the caller moves them into network namespaces of their own. It ends
// when its standard input does. Packets are delayed whole, so that connecting and slow start take as long as on a
// real link, which a proxy of bytes cannot do.

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 1 << 15, LONGEST = 9216 };

struct packet { struct timespec due; int length; char bytes[]; };

struct direction {
    int from, to;
    struct packet *slots[SLOTS];
    unsigned first, next;
    pthread_mutex_t lock;
    pthread_cond_t some;
};

static long delay_ns;

static int open_tun(const char *name) {
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    int fd = open("/dev/net/tun", O_RDWR);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        perror(name);
        exit(1);
    }
    return fd;
}

static void *take(void *argument) {
    struct direction *way = argument;
    char buffer[LONGEST];
    for (;;) {
        int length = read(way->from, buffer, sizeof buffer);
        if (length <= 0) {
            usleep(1000); // The device is not up yet.
            continue;
        }
        struct packet *packet = malloc(sizeof *packet + length);
        if (!packet) continue;
        clock_gettime(CLOCK_MONOTONIC, &packet->due);
        packet->due.tv_nsec += delay_ns;
        packet->due.tv_sec += packet->due.tv_nsec / 1000000000;
        packet->due.tv_nsec %= 1000000000;
        packet->length = length;
        memcpy(packet->bytes, buffer, length);
        pthread_mutex_lock(&way->lock);
        if (way->next - way->first == SLOTS) {
            free(packet); // As a router does that has no room.
        } else {
            way->slots[way->next++ % SLOTS] = packet;
            pthread_cond_signal(&way->some);
        }
        pthread_mutex_unlock(&way->lock);
    }
    return NULL;
}

static void *give(void *argument) {
    struct direction *way = argument;
    prctl(PR_SET_TIMERSLACK, 1000);
    for (;;) {
        pthread_mutex_lock(&way->lock);
        while (way->next == way->first) pthread_cond_wait(&way->some, &way->lock);
        struct packet *packet = way->slots[way->first++ % SLOTS];
        pthread_mutex_unlock(&way->lock);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &packet->due, NULL);
        if (write(way->to, packet->bytes, packet->length) < 0) usleep(10);
        free(packet);
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int a = open_tun(words[1]), b = open_tun(words[2]);
    delay_ns = atol(words[3]) * 1000;
    static struct direction ways[2];
    for (int i = 0; i < 2; i++) {
        ways[i].from = i ? b : a;
        ways[i].to = i ? a : b;
        pthread_mutex_init(&ways[i].lock, NULL);
        pthread_cond_init(&ways[i].some, NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, take, &ways[i]);
        pthread_create(&thread, NULL, give, &ways[i]);
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
    return 0;
}
