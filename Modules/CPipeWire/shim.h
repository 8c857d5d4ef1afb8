#pragma once
#include <pipewire/pipewire.h>
#include <pipewire/impl-module.h>
#include <pipewire/extensions/metadata.h>
#include <spa/param/audio/raw.h>
#include <spa/param/audio/format-utils.h>
#include <spa/param/props.h>
#include <spa/param/profile.h>
#include <spa/param/route.h>
#include <spa/node/command.h>
#include <spa/pod/builder.h>
#include <spa/pod/iter.h>
#include <spa/utils/json.h>
#include <spa/utils/result.h>
#include <sys/epoll.h>

/*
 * What Swift cannot import: macros over the object vtables (plain functions since 1.3.81), string constants that are
 * put together by the preprocessor, and variadic or statement macros. Each is one line and decides nothing.
 */

static inline const char *cpw_type_node(void) { return PW_TYPE_INTERFACE_Node; }
static inline const char *cpw_type_device(void) { return PW_TYPE_INTERFACE_Device; }
static inline const char *cpw_type_client(void) { return PW_TYPE_INTERFACE_Client; }
static inline const char *cpw_type_link(void) { return PW_TYPE_INTERFACE_Link; }
static inline const char *cpw_type_metadata(void) { return PW_TYPE_INTERFACE_Metadata; }

static inline int cpw_loop_get_fd(struct pw_loop *l) { return pw_loop_get_fd(l); }
static inline void cpw_loop_enter(struct pw_loop *l) { pw_loop_enter(l); }
static inline void cpw_loop_leave(struct pw_loop *l) { pw_loop_leave(l); }
static inline int cpw_loop_iterate(struct pw_loop *l, int timeout) { return pw_loop_iterate(l, timeout); }

static inline int cpw_core_add_listener(struct pw_core *c, struct spa_hook *h, const struct pw_core_events *e, void *d) { return pw_core_add_listener(c, h, e, d); }
static inline int cpw_core_sync(struct pw_core *c, uint32_t id, int seq) { return pw_core_sync(c, id, seq); }
static inline int cpw_registry_add_listener(struct pw_registry *r, struct spa_hook *h, const struct pw_registry_events *e, void *d) { return pw_registry_add_listener(r, h, e, d); }

static inline int cpw_node_add_listener(struct pw_proxy *p, struct spa_hook *h, const struct pw_node_events *e, void *d) { return pw_node_add_listener((struct pw_node *)p, h, e, d); }
static inline int cpw_node_subscribe_params(struct pw_proxy *p, uint32_t *ids, uint32_t n) { return pw_node_subscribe_params((struct pw_node *)p, ids, n); }
static inline int cpw_node_set_param(struct pw_proxy *p, uint32_t id, uint32_t flags, const struct spa_pod *param) { return pw_node_set_param((struct pw_node *)p, id, flags, param); }
static inline int cpw_node_pause(struct pw_proxy *p) { return pw_node_send_command((struct pw_node *)p, &SPA_NODE_COMMAND_INIT(SPA_NODE_COMMAND_Pause)); }
static inline int cpw_node_start(struct pw_proxy *p) { return pw_node_send_command((struct pw_node *)p, &SPA_NODE_COMMAND_INIT(SPA_NODE_COMMAND_Start)); }

static inline int cpw_device_add_listener(struct pw_proxy *p, struct spa_hook *h, const struct pw_device_events *e, void *d) { return pw_device_add_listener((struct pw_device *)p, h, e, d); }
static inline int cpw_device_enum_params(struct pw_proxy *p, int seq, uint32_t id) { return pw_device_enum_params((struct pw_device *)p, seq, id, 0, UINT32_MAX, NULL); }
static inline int cpw_client_add_listener(struct pw_proxy *p, struct spa_hook *h, const struct pw_client_events *e, void *d) { return pw_client_add_listener((struct pw_client *)p, h, e, d); }
static inline int cpw_metadata_add_listener(struct pw_proxy *p, struct spa_hook *h, const struct pw_metadata_events *e, void *d) { return pw_metadata_add_listener((struct pw_metadata *)p, h, e, d); }
static inline int cpw_metadata_set_property(struct pw_proxy *p, uint32_t subject, const char *key, const char *type, const char *value) { return pw_metadata_set_property((struct pw_metadata *)p, subject, key, type, value); }

static inline struct pw_properties *cpw_properties_new(void) { return pw_properties_new(NULL, NULL); }
static inline bool cpw_is_object(const struct spa_pod *p) { return p && spa_pod_is_object(p); }
/* The value's own address inside of the object, and a copy that trusts no size that a program has put into a pod. */
static inline const struct spa_pod *cpw_prop(const struct spa_pod *o, uint32_t key) { const struct spa_pod_prop *p = spa_pod_find_prop(o, NULL, key); return p ? &p->value : NULL; }
static inline uint32_t cpw_copy_floats(const struct spa_pod *p, float *v, uint32_t max) { return p && spa_pod_is_array(p) && SPA_POD_ARRAY_VALUE_SIZE(p) == sizeof(float) ? spa_pod_copy_array(p, SPA_TYPE_Float, v, max) : 0; }
static inline int cpw_async_seq(int res) { return SPA_RESULT_ASYNC_SEQ(res); }
static inline bool cpw_is_async(int res) { return SPA_RESULT_IS_ASYNC(res); }
static inline bool cpw_is_struct(const struct spa_pod *p) { return spa_pod_is_struct(p); }
static inline bool cpw_in_struct(const struct spa_pod *s, const struct spa_pod *p) { return spa_pod_is_inside(SPA_POD_BODY(s), SPA_POD_BODY_SIZE(s), p); }
static inline const struct spa_pod *cpw_struct_first(const struct spa_pod *s) { const struct spa_pod *p = (const struct spa_pod *)SPA_POD_BODY(s); return cpw_in_struct(s, p) ? p : NULL; }
static inline const struct spa_pod *cpw_struct_next(const struct spa_pod *s, const struct spa_pod *p) { p = (const struct spa_pod *)spa_pod_next(p); return cpw_in_struct(s, p) ? p : NULL; }
