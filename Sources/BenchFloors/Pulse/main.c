// The floor on PulseAudio: what any program outside the server can reach at best. It knows one rule, without policy,
// ownership or a ledger: while a `phone` stream exists, every `music` stream has a tenth of its amplitude.
//
// It says: ready · duck COUNT MICROSECONDS · restore COUNT MICROSECONDS, the time being from the server's event to the
// last write queued.
#include <pulse/pulseaudio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CAPACITY = 256 };

struct stream {
    uint32_t index;
    enum { FREE, MUSIC, PHONE } kind;
    pa_cvolume volume;
    int is_ducked;
};

static struct stream streams[CAPACITY];
static pa_context *context;
static pa_mainloop *loop;
static int phones;
static int64_t event_time;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static struct stream *find(uint32_t index) {
    for (int i = 0; i < CAPACITY; i++)
        if (streams[i].kind != FREE && streams[i].index == index) return &streams[i];
    return NULL;
}

static struct stream *add(uint32_t index, int kind) {
    for (int i = 0; i < CAPACITY; i++) {
        if (streams[i].kind != FREE) continue;
        memset(&streams[i], 0, sizeof streams[i]);
        streams[i].index = index;
        streams[i].kind = kind;
        return &streams[i];
    }
    return NULL;
}

static void forget(pa_operation *operation) {
    if (operation) pa_operation_unref(operation);
}

static void set(struct stream *stream, int is_ducked) {
    pa_cvolume volume = stream->volume;
    pa_volume_t factor = pa_sw_volume_from_linear(is_ducked ? 0.1 : 1);
    for (int i = 0; i < volume.channels; i++) volume.values[i] = pa_sw_volume_multiply(volume.values[i], factor);
    stream->is_ducked = is_ducked;
    forget(pa_context_set_sink_input_volume(context, stream->index, &volume, NULL, NULL));
}

static void set_all(int is_ducked) {
    int count = 0;
    for (int i = 0; i < CAPACITY; i++) {
        if (streams[i].kind != MUSIC || streams[i].is_ducked == is_ducked) continue;
        set(&streams[i], is_ducked);
        count++;
    }
    int64_t end = now();
    printf("%s %d %.1f\n", is_ducked ? "duck" : "restore", count, (end - event_time) / 1e3);
    fflush(stdout);
}

static void on_stream(pa_context *from, const pa_sink_input_info *info, int end, void *data) {
    (void)from, (void)data;
    const char *role = end || !info ? NULL : pa_proplist_gets(info->proplist, PA_PROP_MEDIA_ROLE);
    if (!role) return;
    struct stream *stream = find(info->index);
    if (!strcmp(role, "phone")) {
        if (!stream && add(info->index, PHONE) && phones++ == 0) set_all(1);
    } else if (!strcmp(role, "music")) {
        if (!stream) stream = add(info->index, MUSIC);
        if (!stream || stream->is_ducked) return;
        stream->volume = info->volume;
        if (phones) set(stream, 1);
    }
}

static void on_event(pa_context *from, pa_subscription_event_type_t type, uint32_t index, void *data) {
    (void)data;
    struct stream *stream = find(index);
    switch (type & PA_SUBSCRIPTION_EVENT_TYPE_MASK) {
    case PA_SUBSCRIPTION_EVENT_NEW:
        event_time = now();
        forget(pa_context_get_sink_input_info(from, index, on_stream, NULL));
        break;
    case PA_SUBSCRIPTION_EVENT_REMOVE:
        if (!stream) break;
        event_time = now();
        int was_phone = stream->kind == PHONE;
        stream->kind = FREE;
        if (was_phone && --phones == 0) set_all(0);
        break;
    default:
        if (stream && stream->kind == MUSIC && !stream->is_ducked)
            forget(pa_context_get_sink_input_info(from, index, on_stream, NULL));
    }
}

static void on_listed(pa_context *from, int success, void *data) {
    (void)from, (void)success, (void)data;
    puts("ready");
    fflush(stdout);
}

static void on_state(pa_context *from, void *data) {
    (void)data;
    pa_context_state_t state = pa_context_get_state(from);
    if (!PA_CONTEXT_IS_GOOD(state)) pa_mainloop_quit(loop, 1);
    if (state != PA_CONTEXT_READY) return;
    pa_context_set_subscribe_callback(from, on_event, NULL);
    forget(pa_context_subscribe(from, PA_SUBSCRIPTION_MASK_SINK_INPUT, NULL, NULL));
    forget(pa_context_get_sink_input_info_list(from, on_stream, NULL));
    // Answers come in order: this one comes behind the list.
    forget(pa_context_subscribe(from, PA_SUBSCRIPTION_MASK_SINK_INPUT, on_listed, NULL));
}

int main(void) {
    loop = pa_mainloop_new();
    context = pa_context_new(pa_mainloop_get_api(loop), "floor");
    pa_context_set_state_callback(context, on_state, NULL);
    if (pa_context_connect(context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0) return 1;
    int result = 0;
    pa_mainloop_run(loop, &result);
    return result;
}
