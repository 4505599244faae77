"""Functions of Postgres and its usual extensions by what they do beyond the transaction that calls them.

A function of Postgres itself that is marked volatile is called only where it is listed as harmless: one that a later
version brings is refused until somebody has looked at it. Of other functions only some are known by name.
"""

import re

# Ordered: the first that matches the whole name is taken. What it does, as it goes on after "it".
_REFUSED: tuple[tuple[str, str], ...] = (
    (r"pg_(try_)?advisory_\w+", "takes or frees a lock that others may wait for"),
    (r"set_config|setseed", "sets what may outlive the transaction; SHOW and current_setting() read"),
    (r"nextval|setval", "moves a sequence, which no rollback undoes"),
    (r"pg_notify", "notifies others"),
    (
        r"pg_current_xact_id|txid_current",
        "takes a transaction's number; pg_current_xact_id_if_assigned() and pg_current_snapshot() take none",
    ),
    (r"pg_export_snapshot", "hands the snapshot to others"),
    (r"lo_(?!get$)\w+|loread|lowrite", "opens or writes large objects; lo_get() reads them"),
    (r"pg_(terminate|cancel)_backend", "ends what another session does"),
    (
        r"(query|cursor|table|schema|database)_to_xml\w*|ts_stat|ts_rewrite|crosstab\w*|connectby|xpath_table",
        "runs or reads what its arguments name, which nobody can look at before",
    ),
    (r"dblink\w*|postgres_fdw_disconnect\w*", "acts through a connection of its own"),
    (
        r"https?_(get|post|put|patch|delete|head)|query_export_to_s3|table_import_from_s3",
        "acts over the network",
    ),
    (
        r"pg_file_(write|sync|rename|unlink)|pg_stat_statements_reset\w*|pg_background_\w+|pg_prewarm|autoprewarm\w*",
        "acts on the server",
    ),
    (r"pg_buffercache_(evict|mark)\w*|heap_force_\w+|pg_truncate_visibility_map", "acts on the server"),
    (r"bt_index_parent_check|gin_index_check", "keeps writers waiting"),
    (r"pg_logical_emit_message|pg_log_standby_snapshot", "writes to the server's log of changes"),
    (
        r"pg_(create|copy|drop|sync)_\w*replication_slots?|pg_replication_slot_\w+|pg_logical_slot_\w+",
        "moves a slot",
    ),
    (r"pg_replication_origin_(?!oid$|status$)\w+", "moves a replication origin"),
    (r"pg_switch_wal|pg_create_restore_point|pg_backup_\w+|pg_promote", "acts on the server"),
    (
        r"pg_wal_replay_(pause|resume)|pg_reload_conf|pg_rotate_logfile\w*|pg_log_backend_\w+",
        "acts on the server",
    ),
    (
        r"pg_stat(?!_get)\w*_reset\w*|pg_(clear|restore)_(relation|attribute|extended)_stats",
        "resets statistics",
    ),
    (r"brin_(de)?summarize_\w+|gin_clean_pending_list", "rewrites an index"),
    (
        r"binary_upgrade_\w+|pg_nextoid|pg_import_system_collations|pg_stop_making_pinned_objects",
        "writes catalogs",
    ),
    (r"pg_extension_config_dump|\w+_validator|\w+_(call|inline)_handler", "is for the server's own use"),
)
_HARMLESS = (
    r"random\w*|array_(sample|shuffle)|gen_random_uuid|uuidv[47]",
    r"clock_timestamp|timeofday|pg_sleep(_for|_until)?|current_query",
    r"currval|lastval|pg_sequence_last_value|pg_get_sequence_data|currtid2?|lo_get",
    r"pg_xact_\w+|txid_status|pg_last_(committed_xact|wal_\w+|xact_\w+)|pg_current_wal_\w+|pg_prepared_xact",
    r"pg_(blocking_pids|safe_snapshot_blocking_pids|lock_status|isolation_test_session_is_blocked)",
    r"pg_is_in_recovery|pg_is_wal_replay_paused|pg_get_wal_\w+|pg_available_wal_summaries|pg_wal_summary_contents",
    r"pg_control_\w+|pg_current_logfile|pg_(hba_file_rules|ident_file_mappings|show_all_file_settings)",
    r"pg_\w*_size|pg_partition_(tree|ancestors)|amvalidate|pg_(database_)?collation_actual_version|pg_jit_available",
    # Of files on the server, what the role may read: nothing is changed.
    r"pg_ls_\w+|pg_read_(binary_)?file\w*|pg_stat_file",
    r"pg_get_(aios|backend_memory_contexts|loaded_modules|multixact_members|shmem_\w+|wait_events)",
    r"pg_stat_get_\w+|pg_stat_(clear_snapshot|force_next_flush)|pg_stat_have_stats|pg_notification_queue_usage",
    r"pg_show_replication_origin_status",
)
_KNOWN_HARMLESS = re.compile("|".join(_HARMLESS))


def why_refused(name: str) -> str:
    """Why a function of that name is not called, in one line; empty where no reason is known."""
    what = next((what for names, what in _REFUSED if re.fullmatch(names, name)), "")
    return what and f"{name}() does not run here: it {what}"


def is_harmless(name: str) -> bool:
    """Whether a volatile function of Postgres's own of that name is known to change nothing that outlives the call."""
    return not why_refused(name) and _KNOWN_HARMLESS.fullmatch(name) is not None


def why_unknown(name: str) -> str:
    """What is said of one that is neither."""
    return f"{name}() does not run here: it is volatile, and not known to be harmless"
