// The floor on PipeWire: what any program outside the server can reach at best. It knows one rule, without policy,
// ownership or a ledger: while a `Communication` stream exists, every `Music` stream has soft volumes of a tenth.
//
// It says: ready · duck COUNT MICROSECONDS · restore COUNT MICROSECONDS, the time being from the server's event to the
// last write queued.
#include <pipewire/pipewire.h>
#include <spa/param/audio/raw.h>
#include <spa/param/props.h>
#include <spa/pod/builder.h>
#include <spa/pod/iter.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CAPACITY = 256 };

struct stream {
    uint32_t id;
    enum { FREE, MUSIC, PHONE } kind;
    int is_ducked;
    uint32_t channels;
    float volumes[SPA_AUDIO_MAX_CHANNELS];
    struct pw_node *node;
    struct spa_hook hook;
};

static struct stream streams[CAPACITY];
static struct pw_main_loop *loop;
static struct pw_core *core;
static struct pw_registry *registry;
static int phones;
static int ready_sequence = -1, rounds;
static int64_t event_time;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void set(struct stream *stream, int is_ducked) {
    uint8_t buffer[1024];
    float volumes[SPA_AUDIO_MAX_CHANNELS];
    for (uint32_t i = 0; i < stream->channels; i++) volumes[i] = stream->volumes[i] * (is_ducked ? 0.1f : 1);
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
    struct spa_pod *props = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_Props, SPA_PARAM_Props,
        // Sent again, the user's own volumes take the soft ones away.
        is_ducked ? SPA_PROP_softVolumes : SPA_PROP_channelVolumes,
        SPA_POD_Array(sizeof(float), SPA_TYPE_Float, stream->channels, volumes));
    stream->is_ducked = is_ducked;
    pw_node_set_param(stream->node, SPA_PARAM_Props, 0, props);
}

static void set_all(int is_ducked) {
    int count = 0;
    for (int i = 0; i < CAPACITY; i++) {
        if (streams[i].kind != MUSIC || !streams[i].channels || streams[i].is_ducked == is_ducked) continue;
        set(&streams[i], is_ducked);
        count++;
    }
    int64_t end = now();
    printf("%s %d %.1f\n", is_ducked ? "duck" : "restore", count, (end - event_time) / 1e3);
    fflush(stdout);
}

static void on_param(
    void *data, int sequence, uint32_t id, uint32_t index, uint32_t next, const struct spa_pod *props) {
    (void)sequence, (void)index, (void)next;
    struct stream *stream = data;
    const struct spa_pod_prop *volumes =
        id == SPA_PARAM_Props && props ? spa_pod_find_prop(props, NULL, SPA_PROP_channelVolumes) : NULL;
    if (!volumes) return;
    uint32_t count = spa_pod_copy_array(&volumes->value, SPA_TYPE_Float, stream->volumes, SPA_AUDIO_MAX_CHANNELS);
    if (count) stream->channels = count;
    if (phones && !stream->is_ducked && stream->channels) set(stream, 1);
}

static const struct pw_node_events node_events = {PW_VERSION_NODE_EVENTS, .param = on_param};

static void on_global(
    void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version, const struct spa_dict *props) {
    (void)data, (void)permissions, (void)version;
    if (!props || strcmp(type, PW_TYPE_INTERFACE_Node)) return;
    int64_t time = now();
    const char *class = spa_dict_lookup(props, PW_KEY_MEDIA_CLASS), *role = spa_dict_lookup(props, PW_KEY_MEDIA_ROLE);
    if (!class || !role || strcmp(class, "Stream/Output/Audio")) return;
    int kind = !strcmp(role, "Communication") ? PHONE : !strcmp(role, "Music") ? MUSIC : FREE;
    struct stream *stream = streams;
    while (stream < streams + CAPACITY && stream->kind != FREE) stream++;
    if (kind == FREE || stream == streams + CAPACITY) return;
    memset(stream, 0, sizeof *stream);
    stream->id = id;
    stream->kind = kind;
    if (kind == PHONE) {
        event_time = time;
        if (phones++ == 0) set_all(1);
        return;
    }
    stream->node = pw_registry_bind(registry, id, type, PW_VERSION_NODE, 0);
    pw_node_add_listener(stream->node, &stream->hook, &node_events, stream);
    uint32_t wanted = SPA_PARAM_Props;
    pw_node_subscribe_params(stream->node, &wanted, 1);
}

static void on_global_remove(void *data, uint32_t id) {
    (void)data;
    struct stream *stream = streams;
    while (stream < streams + CAPACITY && (stream->kind == FREE || stream->id != id)) stream++;
    if (stream == streams + CAPACITY) return;
    event_time = now();
    int was_phone = stream->kind == PHONE;
    stream->kind = FREE;
    if (was_phone) {
        if (--phones == 0) set_all(0);
    } else {
        spa_hook_remove(&stream->hook);
        pw_proxy_destroy((struct pw_proxy *)stream->node);
    }
}

static const struct pw_registry_events registry_events = {
    PW_VERSION_REGISTRY_EVENTS, .global = on_global, .global_remove = on_global_remove};

static void on_done(void *data, uint32_t id, int sequence) {
    (void)data;
    if (id != PW_ID_CORE || sequence != ready_sequence) return;
    // The first answer ends the list of objects, the second what those bound meanwhile have to say.
    if (rounds++ == 0) {
        ready_sequence = pw_core_sync(core, PW_ID_CORE, 0);
    } else {
        puts("ready");
        fflush(stdout);
    }
}

static void on_error(void *data, uint32_t id, int sequence, int result, const char *message) {
    (void)data, (void)sequence;
    fprintf(stderr, "%u: %d %s\n", id, result, message);
    if (id == PW_ID_CORE) pw_main_loop_quit(loop);
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .done = on_done, .error = on_error};

int main(int count, char **arguments) {
    pw_init(&count, &arguments);
    loop = pw_main_loop_new(NULL);
    struct pw_context *context = pw_context_new(pw_main_loop_get_loop(loop), NULL, 0);
    core = context ? pw_context_connect(context, NULL, 0) : NULL;
    if (!core) return 1;
    struct spa_hook core_hook, registry_hook;
    pw_core_add_listener(core, &core_hook, &core_events, NULL);
    registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
    pw_registry_add_listener(registry, &registry_hook, &registry_events, NULL);
    ready_sequence = pw_core_sync(core, PW_ID_CORE, 0);
    pw_main_loop_run(loop);
    return 0;
}
