"""Every sentence of SECURITY.md that promises something has its tests: this file says which, and that they are there."""

import re
from pathlib import Path

import pytest

from workbench.manual import whole_page

ROOT = Path(__file__).resolve().parents[1]
TEXT = whole_page(ROOT / "SECURITY.md")

#: How a sentence begins, and the tests that hold it: file below ``tests/``, then names in it.
HELD = {
    "A cell cannot leave its kernel": "sandbox/test_attacks.py::test_every_attack_gets_nowhere sandbox/test_machinery.py::test_no_cell_has_an_effect",
    "At `namespaces` it has no network": "sandbox/test_attacks.py::test_every_attack_gets_nowhere sandbox/test_exhaustion.py::test_it_is_stopped_and_the_neighbour_goes_on sandbox/test_exhaustion.py::test_a_flood_of_output_is_cut_and_kept_up_to_a_bound",
    "`landlock` is a second level": "sandbox/test_open_list.py::test_what_is_found_open_is_what_the_page_lists sandbox/test_unmediated.py::test_no_attack_has_an_effect",
    "What enforces the memory": "sandbox/test_memory_of_no_process.py::test_no_cell_keeps_more_than_its_limit",
    "Where none can be made": "sandbox/test_memory_of_no_process.py::test_no_cell_keeps_more_than_its_limit",
    "POSIX queues are closed always": "sandbox/test_memory_of_no_process.py::test_no_cell_keeps_more_than_its_limit",
    "`doctor` says which of the two": "cli/test_main_job.py::test_doctor_says_what_enforces_the_memory",
    "A cell gets no datum from after the cutoff": "proxies/leaks/test_frame.py::test_a2_a_session_without_a_cutoff_is_refused_and_a_pinned_one_only_moves_back sandbox/test_session.py::test_rows_that_came_late_say_nothing_in_a_cell sandbox/test_wire.py::test_any_bytes_are_a_request_or_a_bad_frame proxies/test_every_endpoint.py::test_nothing_known_later_gets_out_and_what_was_known_does",
    "How far a source's dates can be trusted": "proxies/test_every_endpoint.py::test_the_catalogue_has_every_endpoint_and_policy",
    "The person at the keyboard alone chooses the level": "engine/test_packages.py::test_a_forged_level_never_yields_an_unsealed_kernel engine/test_packages.py::test_the_best_sealed_level_is_taken_and_never_none",
    "Nothing in a run, a package": "engine/test_packages.py::test_a_resumed_run_starts_kernels_at_the_level_of_this_command_line engine/test_packages.py::test_a_level_in_a_dotenv_file_does_not_reach_jupyterlab cli/test_env_file.py::test_any_other_name_is_ignored_with_its_name_and_file cli/test_settings_file.py::test_it_sets_nothing_else",
    "Opening a stranger's package runs nothing": "engine/test_packages.py::test_a_corpus_of_hostile_packages_changes_nothing engine/test_packages.py::test_a_forged_level_never_yields_an_unsealed_kernel",
    "It is taken in whole or not at all": "engine/test_packages.py::test_an_import_that_fails_at_its_last_step_leaves_the_home_as_it_was engine/test_marks_on_screens.py::test_a_mark_is_on_every_screen_and_on_none_without_it engine/test_packages.py::test_an_honest_package_is_taken_in_and_verified_in_sealed_kernels engine/test_package_bombs.py::test_a_bomb_is_refused_in_bounded_memory_and_leaves_nothing",
    "Nothing is re-run where the records already differ": "engine/test_packages.py::test_altered_evidence_is_listed_and_kept_only_when_asked_for_and_never_run engine/test_anchor.py::test_a_journal_written_anew_is_found_and_nothing_of_the_run_is_executed",
    "`show FILE.zip` makes the same checks": "engine/test_show_package.py::test_it_is_shown_and_the_home_keeps_its_bytes engine/test_show_package.py::test_what_an_import_refuses_is_not_shown",
    "No page in a package is kept or opened": "engine/test_show_package.py::test_a_page_in_a_package_is_refused_and_the_note_that_is_opened_is_ours",
    "Its members fill its file": "engine/test_tiled_zip.py::test_an_archive_that_can_be_read_in_two_ways_is_refused engine/test_tiled_zip.py::test_whatever_its_headers_say_a_taken_archive_reads_alike_everywhere engine/test_tiled_zip.py::test_what_other_programs_take_out_is_what_was_checked",
    "A changed proof is found": "sandbox/test_verify.py::test_a_changed_notebook_is_found",
    "A line, a cell, an answer or a conclusion": "sandbox/test_verify.py::test_a_changed_journal_line_is_found sandbox/test_verify.py::test_a_changed_ledger_answer_is_found engine/test_packages.py::test_a_corpus_of_hostile_packages_changes_nothing engine/test_anchor.py::test_a_number_above_the_proofs_that_was_changed_is_found_by_verify_and_audit",
    "A journal that was written anew whole": "engine/test_anchor.py::test_a_journal_written_anew_is_found_and_nothing_of_the_run_is_executed",
    "`doctor --check` hashes every row": "store/test_home_check.py::test_a_home_that_was_whole_is_checked_as_one_that_was_never_looked_at store/test_home_check.py::test_a_file_changed_with_its_size_and_times_put_back_is_found",
    "A signature says who sent a package": "engine/test_signatures.py::test_a_signed_package_names_its_signer_on_every_screen",
    "It is over the run's id": "engine/test_signatures.py::test_a_wrong_signature_is_exit_6_and_changes_nothing engine/test_signatures.py::test_a_log_that_is_changed_after_the_import_no_longer_fits_the_signature",
    "A wrong one is exit 6": "engine/test_signatures.py::test_a_wrong_signature_is_exit_6_and_changes_nothing",
    "Trusting a key gives it a name": "engine/test_signatures.py::test_a_signed_package_names_its_signer_on_every_screen",
    "Keys stay where you put them": "sandbox/test_attacks.py::test_every_attack_gets_nowhere",
    "No cell sees the environment": "sandbox/test_attacks.py::test_every_attack_gets_nowhere sandbox/test_seals_are_on.py::test_no_sealed_cell_reads_the_signing_key engine/test_signatures.py::test_only_a_package_can_be_signed_and_only_with_a_key_of_ones_own engine/test_signatures.py::test_a_new_key_is_its_owners_alone_and_stays",
    "A folder you stand in": "cli/test_env_file.py::test_an_upstream_in_it_does_not_get_the_callers_data_key cli/test_env_file.py::test_an_api_base_in_it_does_not_get_the_callers_model_key cli/test_current_folder.py::test_no_command_reads_or_runs_what_lies_in_the_current_folder",
    "Error messages hold no key": "proxies/leaks/test_frame.py::test_a1_answers_errors_ledger_and_logs_hold_no_key",
    "`serve` answers its own pages only": "browser/test_serve_door.py::test_a_foreign_name_for_this_machine_is_refused_whatever_it_knows",
    "Loopback, a token of 192 bits": "browser/test_serve_door.py::test_it_listens_on_loopback_alone_with_a_token_of_128_bits_or_more browser/test_serve_door.py::test_a_foreign_name_for_this_machine_is_refused_whatever_it_knows browser/test_serve_door.py::test_a_page_of_another_origin_gets_no_websocket_and_no_answer browser/test_serve_door.py::test_what_another_page_embeds_is_refused_and_a_link_that_a_person_follows_is_not",
    "Cookies are `SameSite=Strict`": "browser/test_serve_door.py::test_cookies_stay_with_our_own_pages browser/test_serve_door.py::test_two_servers_do_not_take_each_others_cookies",
    "No folder is listed": "browser/test_serve_door.py::test_no_folder_is_listed",
    "The kernel of a page that went": "browser/test_serve_door.py::test_the_kernel_of_a_page_that_went_without_farewell_is_gone_within_a_minute widgets/test_server.py::test_idle_kernels_are_stopped",
    "`lab` has the same door": "browser/test_lab_door.py::test_a_foreign_name_for_this_machine_is_refused_with_the_token_too browser/test_lab_door.py::test_a_page_of_another_origin_gets_no_websocket_and_no_answer",
    "Loopback, its own host": "browser/test_lab_door.py::test_its_cookies_stay_with_its_own_pages_and_name_their_port browser/test_lab_door.py::test_a_token_that_can_be_guessed_is_refused_before_it_listens cli/test_stranger_folder.py::test_jupyterlab_gets_the_data_folder_whatever_folder_it_runs_in",
    "`docs` shows the manual": "test_manual.py::test_the_manual_is_shown_to_its_own_pages_only",
    "An Analyst kernel whose page went": "browser/test_lab_door.py::test_an_analyst_kernel_that_was_left_ends_within_a_minute_and_a_persons_own_stays widgets/test_server.py::test_only_analyst_kernels_that_were_left_are_ended",
    "Text of a stranger is text": "browser/test_hostile_text.py::test_the_report_and_the_static_tree_show_the_corpus_as_text",
    "Nothing of it runs, fetches or covers": "browser/test_hostile_text.py::test_nothing_planted_runs_or_asks_on_any_tab_or_at_home browser/test_hostile_lab.py::test_names_of_files_runs_and_tables_are_text_in_jupyterlab browser/test_hostile_text.py::test_a_proof_notebook_is_harmless_in_nbconvert sandbox/test_sanitize.py::test_no_style_leaves_its_box_or_hides_its_text sandbox/test_passive.py::test_nothing_in_a_text_cell_runs_or_fetches cli/test_hostile_lines.py::test_nothing_a_command_prints_steers_the_terminal cli/test_hostile_lines.py::test_a_trees_csv_holds_the_corpus_and_no_formula",
    "How a package says its outputs are shown": "engine/test_passive_import.py::test_a_forged_passive_form_is_found",
    "What is written into the data folder": "engine/test_private_files.py::test_a_real_run_leaves_nothing_readable_by_others engine/test_private_files.py::test_a_data_folder_that_its_owner_shares_keeps_its_mode",
    "A model server's redirect": "models/test_model_redirects.py::test_a_redirect_to_another_origin_is_not_followed proxies/test_redirects.py::test_no_wire_follows_a_redirect",
    "No cluster is used without": "engine/test_workers.py::test_without_certificates_no_cluster_is_used engine/test_worker_parts.py::test_a_job_arrives_whole",
    "A scheduler that does not": "engine/test_workers.py::test_a_scheduler_without_tls_is_refused engine/test_workers.py::test_a_key_that_others_can_read_is_refused",
    "A cell on a worker is sealed": "engine/test_workers.py::test_a_killed_worker_changes_neither_result_nor_ledger_nor_bill",
    "What the web says to a model stays": "search/test_desk.py::test_the_filter_reads_no_dates_of_engines_and_quotes_strangers",
    "It stands behind bars": "test_quoting.py::test_a_quotation_has_one_end_bars_on_every_line_and_says_the_same_each_time test_quoting.py::test_who_knows_name_and_text_but_not_the_key_computes_another_mark search/test_texts.py::test_what_a_reader_does_not_see_is_not_read_and_what_follows_is search/test_addresses.py::test_no_machine_of_ones_own_is_a_page",
    "What a vendor, a market's question": "agents/test_foreign_text.py::test_by_every_door_of_a_loop_it_comes_behind_bars agents/test_foreign_text.py::test_what_a_cell_prints_or_raises_comes_behind_bars agents/test_foreign_text.py::test_without_the_quoting_it_would_speak_for_itself",
    "A service's words": "agents/test_foreign_text.py::test_by_every_door_of_a_loop_it_comes_behind_bars",
    "What a page hides by its own style": "search/test_hidden_text.py::test_ordinary_pages_lose_nothing_and_hostile_ones_are_seen_through search/test_hidden_text.py::test_ways_that_the_corpus_does_not_hold search/test_hidden_text.py::test_joiners_stay_where_letters_and_pictures_need_them_and_carry_nothing_elsewhere",
    "Of 768 pages that hide": "search/test_hidden_text.py::test_ordinary_pages_lose_nothing_and_hostile_ones_are_seen_through",
    "A page for which that takes too much work": "search/test_hidden_text.py::test_a_hostile_page_is_refused_or_read_in_bounded_work",
    "What it does to the opinion": "search/test_desk.py::test_a_reply_that_is_no_verdict_is_asked_for_again_and_then_drops_everything search/test_texts.py::test_a_verdict_keeps_only_what_is_named_once_and_clearly",
    "A document that you add is parsed": "sources/test_documents.py::test_a_parser_that_was_taken_over_hands_over_text_and_nothing_else",
    "PDF, Word, Excel and web pages go": "sources/test_documents.py::test_every_kind_is_read_and_each_cutoff_searches_what_was_known sources/test_documents.py::test_hostile_files_are_a_line_each_and_the_honest_one_is_added",
    "One that unpacks without end": "sources/test_documents.py::test_hostile_files_are_a_line_each_and_the_honest_one_is_added",
    "A search sees documents": "sources/test_documents.py::test_what_is_written_later_changes_neither_order_nor_bytes",
    "What a person, a model or a client writes": "engine/test_written_and_read.py::test_every_event_that_a_door_accepts_survives_its_package_and_shows_the_same engine/test_written_and_read.py::test_a_run_that_could_not_be_shared_is_mended_on_reading_and_its_bytes_stay",
    "A file that you are handed": "proxies/test_input_files.py::test_only_a_regular_file_of_bounded_size_is_read cli/test_hostile_files.py::test_a_sample_stops_no_command",
    "Studies, questions, settings": "proxies/test_input_files.py::test_yaml_that_is_not_plain_data_is_refused proxies/test_input_files.py::test_json_that_would_stop_a_reader_is_refused",
    "A corpus of 300 hostile files": "cli/test_hostile_files.py::test_none_of_them_stops_any_command cli/test_hostile_files.py::test_the_corpus_has_300_files_and_no_two_are_the_same",
    "Two commands on one home": "store/test_two_processes.py::test_a_product_without_its_guard_is_caught store/test_two_processes.py::test_some_pairs_leave_the_home_whole",
    "In every third schedule": "store/test_two_processes.py::test_an_import_that_goes_by_the_clock_is_caught store/test_two_processes.py::test_some_pairs_leave_the_home_whole",
    "Two processes that spend one budget": "engine/test_shared_budget.py::test_two_processes_that_are_killed_do_not_spend_more_than_the_budget engine/test_shared_budget.py::test_a_sitting_that_does_not_look_at_what_was_spent_is_caught",
    "Every pair of rm": "store/test_two_processes.py::test_every_pair_seven_times_leaves_the_home_whole store/test_two_processes.py::test_what_is_not_whole_is_named_and_exit_6",
    "Tested with a real second user": "browser/test_serve_door.py::test_a_second_user_of_the_machine_is_let_in_nowhere browser/test_serve_command.py::test_the_token_is_on_no_command_line",
    "Cookies know no ports": "browser/test_serve_door.py::test_two_servers_do_not_take_each_others_cookies",
    "It opens no other server": "browser/test_serve_door.py::test_two_servers_do_not_take_each_others_cookies browser/test_serve_door.py::test_cookies_stay_with_our_own_pages",
}
#: Sentences that promise nothing: what others can do all the same, and advice.
SAID = (
    "They can see that the server runs",
    "Do not browse servers",
    "Not looked at (not tested)",
    "The built manual, which is no secret, and an exam",
    "A text hidden in one of these ways",
    "Workers are machines of yours",
    "Whoever holds a certificate of the cluster",
)


def section(title: str) -> str:
    return TEXT.partition(f"## {title}")[2].partition("\n## ")[0].partition("\n")[2]


def promises() -> list[str]:
    return re.findall(r"^\d+\. \*\*.*?(?=^\d+\. \*\*|\Z)", section("What is promised"), re.M | re.S)


def sentences(text: str) -> list[str]:
    plain = " ".join(re.sub(r"^\d+\. ", "", text.partition("*Tests:*")[0]).replace("**", "").split())
    return [part for part in re.split(r"(?<=[.)\"])\s+(?=[A-Z`])", plain) if part]


def promising() -> list[str]:
    parts = [*promises(), section("Other users of the same machine")]
    return [sentence for part in parts for sentence in sentences(part) if not sentence.startswith(SAID)]


def test_every_sentence_that_promises_something_has_its_tests() -> None:
    assert len(promises()) >= 12
    held = {sentence: [start for start in HELD if sentence.startswith(start)] for sentence in promising()}
    assert {sentence: starts for sentence, starts in held.items() if len(starts) != 1} == {}
    assert sorted(HELD) == sorted(start for starts in held.values() for start in starts), (
        "of sentences that went"
    )


@pytest.mark.parametrize("start", HELD)
def test_the_tests_of_a_sentence_are_there(start: str) -> None:
    for place in HELD[start].split():
        name, _, function = place.partition("::")
        assert re.search(rf"^(async )?def {function}\(", (ROOT / "tests" / name).read_text(), re.M), place


def test_the_page_names_the_files_of_these_tests() -> None:
    for promise in promises():
        files = set(re.findall(r"`([a-z_/]+\.py)`", promise.partition("*Tests:*")[2]))
        assert files or "not tested" in promise, promise[:80]
        for name in files:
            assert re.search(r"^(async )?def test_", (ROOT / "tests" / name).read_text(), re.M), name
