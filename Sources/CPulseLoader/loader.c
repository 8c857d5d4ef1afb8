#include "CPulseLoader.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

/* Every function of libpulse that is called. */
#define FUNCTIONS(X) \
    X(pa_channel_map_parse) X(pa_channel_map_snprint) X(pa_context_connect) X(pa_context_disconnect) \
    X(pa_context_errno) X(pa_context_get_card_info_by_index) X(pa_context_get_card_info_list) \
    X(pa_context_get_client_info) X(pa_context_get_client_info_list) X(pa_context_get_index) \
    X(pa_context_get_module_info) X(pa_context_get_module_info_list) X(pa_context_get_server_info) \
    X(pa_context_get_sink_info_by_index) X(pa_context_get_sink_info_list) X(pa_context_get_sink_input_info) \
    X(pa_context_get_sink_input_info_list) X(pa_context_get_source_info_by_index) \
    X(pa_context_get_source_info_list) X(pa_context_get_source_output_info) \
    X(pa_context_get_source_output_info_list) X(pa_context_get_state) X(pa_context_is_pending) \
    X(pa_context_load_module) X(pa_context_move_sink_input_by_index) X(pa_context_move_sink_input_by_name) \
    X(pa_context_move_source_output_by_index) X(pa_context_move_source_output_by_name) \
    X(pa_context_new_with_proplist) X(pa_context_set_sink_input_mute) X(pa_context_set_sink_input_volume) \
    X(pa_context_set_source_output_mute) X(pa_context_set_source_output_volume) \
    X(pa_context_set_state_callback) X(pa_context_set_subscribe_callback) X(pa_context_subscribe) \
    X(pa_context_unload_module) X(pa_context_unref) X(pa_ext_stream_restore_delete) \
    X(pa_ext_stream_restore_read) X(pa_ext_stream_restore_set_subscribe_cb) X(pa_ext_stream_restore_subscribe) \
    X(pa_ext_stream_restore_write) X(pa_operation_cancel) X(pa_operation_unref) X(pa_proplist_free) \
    X(pa_proplist_get) X(pa_proplist_gets) X(pa_proplist_iterate) X(pa_proplist_new) X(pa_proplist_sets) \
    X(pa_proplist_size) X(pa_stream_connect_record) X(pa_stream_disconnect) X(pa_stream_drop) \
    X(pa_stream_get_context) X(pa_stream_get_index) X(pa_stream_get_state) X(pa_stream_new_with_proplist) \
    X(pa_stream_peek) X(pa_stream_set_monitor_stream) X(pa_stream_set_read_callback) \
    X(pa_stream_set_state_callback) X(pa_stream_unref) X(pa_strerror) X(pa_sw_volume_to_linear)

/*
 * Each is a jump to where the library has it, which is looked up when the library is loaded. Hidden, so that the library's
 * own calls do not come this way.
 */
#define SLOT(name) __attribute__((used, visibility("hidden"))) void *slot_##name;
FUNCTIONS(SLOT)

#define BEGIN(name) ".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n.p2align 4\n" #name ":\n"
#define END(name) ".size " #name ", .-" #name "\n"
#if defined(__x86_64__)
#define JUMP(name) __asm__(BEGIN(name) "endbr64\njmp *slot_" #name "(%rip)\n" END(name));
#elif defined(__aarch64__)
#define JUMP(name) \
    __asm__(BEGIN(name) "hint #34\nadrp x16, slot_" #name "\nldr x16, [x16, :lo12:slot_" #name "]\nbr x16\n" END(name));
#else
#error "say here how this processor jumps to an address in memory"
#endif
FUNCTIONS(JUMP)

#define ENTRY(name) {#name, &slot_##name},
static const struct {
    const char *name;
    void **slot;
} functions[] = {FUNCTIONS(ENTRY)};

static const char *problem;

static void load(void) {
    void *library = dlopen("libpulse.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (!library) problem = dlerror();
    for (size_t i = 0; !problem && i < sizeof functions / sizeof *functions; i++)
        if (!(*functions[i].slot = dlsym(library, functions[i].name))) problem = dlerror();
}

const char *cpulse_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return problem;
}
