"""Deliberate faults, each of which some test must catch: ``python -m tests.faults``.

A fault is a piece of the source that is there exactly once, what stands in its place, and the
tests that must fail then. The source is copied, harmed in the copy, and the tests are run with it,
in a process that is forked where packages of others are already imported. The file to harm and the
files of the tests are found by searching, because they may move. A piece that is not found exactly
once, or tests that do not run, are reported as STALE.

With ``--rows FILE`` each verdict is a row there, and faults that were caught are not tried again.
The command ends with 1 if any fault is stale or not caught.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

#: Seconds after which tests are given up: a fault may make them go on for ever.
LIMIT = 1800

#: What most tests import, and plugins of pytest, where it is installed; nothing of klsnmf.
IMPORTED = ["hypothesis", "pandas", "pytest", "sklearn.utils.estimator_checks", "zarr"]

#: Files of the source that can be harmed.
KINDS = (".py", ".html", ".js", ".css")

#: A plugin of pytest: the same examples in every run, and none is made smaller once it fails.
PLUGIN = """
from hypothesis import Phase, settings

settings.register_profile(
    "faults", phases=[Phase.explicit, Phase.generate], derandomize=True, database=None
)
settings.load_profile("faults")
"""


#: The file with what tests say.
SAID = "said.txt"


@dataclass(frozen=True)
class Fault:
    """Something that is wrong in the source.

    Attributes
    ----------
    name : what is wrong, in words
    right, wrong : a piece of the source, and what stands in its place
    tests : which tests must see it, as for ``pytest -k``; names in it that begin with test_ say in
        which files to look
    """

    name: str
    right: str
    wrong: str
    tests: str


FORMULA = "test_a_step_is_the_formula"
WITH_GRAPH = "test_a_step_with_a_graph_is_the_formula"
HOSTILE_MODELS = "test_hostile_models_run_no_code"

FAULTS = [
    Fault(
        "labels: a piece that its prototype does not know is scattered",
        "return strange & (many & (stayed > _NEARLY_ALL * of_others))[judged]",
        "return strange & ~strange & (many & (stayed > _NEARLY_ALL * of_others))[judged]",
        "test_clusters_that_were_joined_stay_whole",
    ),
    Fault(
        "labels: strange samples keep the number of a cluster that is another now",
        "(many & (stayed > _NEARLY_ALL * of_others))[judged]",
        "(many & (stayed >= 0 * of_others))[judged]",
        "test_strange_samples_keep_their_cluster_if_they_are_many_and_it_is_what_it_was",
    ),
    # --------------------------------------------------------- more in, more out
    Fault(
        "packed tables: a bomb is unpacked to its end",
        "                if size > limit:",
        "                if size > limit**2:",
        "test_a_gzip_bomb_is_counted_while_it_unpacks",
    ),
    Fault(
        "workbooks: entities are declared in a second piece",
        "before = part[-16:]",
        'before = b"x"',
        "test_a_declaration_across_two_pieces_is_seen",
    ),
    Fault(
        "cells: links lead out of the file",
        "if not isinstance(link, h5py.HardLink):",
        "if link is ...:",
        "test_links_are_not_followed_to_sound_matrices",
    ),
    Fault(
        "parts: columns are put below each other by place",
        "return other.X[:, [place[name] for name in first.features]]",
        "return other.X + 0 * len(place)",
        "test_columns_of_parts_go_by_their_names or test_sheets_by_name",
    ),
    Fault(
        "texts: what every text has weighs as in scikit-learn",
        "weights = np.log((1 + len(texts)) / (1 + frequency))",
        "weights = 1 + np.log((1 + len(texts)) / (1 + frequency))",
        "test_what_every_text_has_weighs_nothing",
    ),
    Fault(
        "join: clusters are beside other rows after some were left out",
        "rows = np.arange(n) if table.rows is None else np.asarray(table.rows)",
        "rows = np.arange(n)",
        "test_rows_that_were_left_out_have_no_cluster",
    ),
    # --------------------------------------------------------- what has held from the beginning
    Fault(
        "fits: starts do not depend on the seed",
        "        rng = check_random_state(self.random_state)\n        n_init: Any",
        "        rng = check_random_state(None)\n        n_init: Any",
        "test_a_generator_in_the_same_state_gives_the_same_bits",
    ),
    Fault(
        "threads: the part of the second is left out",
        "running = [pool.submit(function, part) for part in others]",
        "running = [pool.submit(function, part) for part in others[1:]]",
        "test_one_and_two_threads_agree",
    ),
    Fault(
        "threads: more than a container is granted",
        "min(library.num_threads, cores_granted())",
        "library.num_threads",
        "test_no_more_threads_than_a_container_is_granted",
    ),
    Fault(
        "threads: a single part is left to the threads of BLAS",
        "    with threads_for(0):\n        if not others:\n            return function(first)\n",
        "    if not others:\n        return function(first)\n    with threads_for(0):\n",
        "test_work_side_by_side_has_one_thread_of_blas_each",
    ),
    Fault(
        "a dense product: only the first columns are made",
        "product[:, parts[place]])\n\n        over_threads(work, len(parts), useful)\n",
        "product[:, parts[place]])\n\n        over_threads(work, 1, useful)\n",
        "test_dense_products_in_parts_are_the_same_with_any_threads",
    ),
    Fault(
        "a dense product: what is filled counts as nearly empty",
        "        if most <= 0:\n            return False\n",
        "        if most < 0:\n            return False\n",
        "test_what_is_nearly_empty_is_told",
    ),
    Fault(
        "threads: parts of a tall product depend on how many threads there are",
        "return list(slices(rows, min(most, -(-rows // useful))))",
        "return list(slices(rows, min(most, -(-rows // threads_of_blas(useful)))))",
        "test_tall_products_are_the_same_to_the_last_bit_with_any_threads",
    ),
    Fault(
        "LS-NMF, W: the local term does not hold it down",
        "            pull, push = s.KG, dot(s.KW, GG(s))\n        push += self.local(s.G, s.KG)",
        "            pull, push = s.KG, dot(s.KW, GG(s))\n"
        "        push += 0 * self.local(s.G, s.KG)",
        "test_the_W_step_never_raises_the_objective",
    ),
    Fault(
        "quotients: nothing is put under a division by zero",
        "    denominator += np.finfo(denominator.dtype).tiny ** 0.75",
        "    denominator += 0",
        "test_degenerate_samples",
    ),
    Fault(
        "units: squares of huge data overflow",
        "return moderate_unit(largest_entry(X)) if free else 1.0",
        "return 1.0",
        "test_huge_and_tiny_data",
    ),
    Fault(
        "sizes: one cluster more than samples is let in",
        "        if n < k:",
        "        if n < k - 1:",
        "test_more_clusters_than_samples_are_refused",
    ),
    Fault(
        "notes: the advised weight is half of that which collapsed",
        'return float(f"{0.5 * self.safe:.3g}")',
        'return float(f"{0.5 * self.value:.3g}")',
        "test_a_lam_too_large_is_named_with_one_that_is_not",
    ),
    Fault(
        "distances: all samples are as long as the first",
        "        d, xp = self.diagonal, namespace(V)",
        "        d, xp = self.diagonal[:1] + 0 * self.diagonal, namespace(V)",
        "test_permuted_samples_give_a_permuted_result",
    ),
    Fault(
        "convergence: the last iteration that is allowed ends well",
        "            self.finish(Status.EXHAUSTED)",
        "            self.finish(Status.CONVERGED)",
        "test_one_iteration_is_too_few",
    ),
    Fault(
        "samples: rows are brought to length 1 in place",
        "    if on_host(X):\n        return normalize(X)",
        "    if on_host(X):\n        return normalize(X, copy=False)",
        "test_samples_are_not_modified",
    ),
    Fault(
        "experiments: finished cells are run again",
        "return [cell for cell in cells if cell.key not in done]",
        "return [cell for cell in cells if cell.key not in done or done]",
        "test_a_run_that_is_killed_goes_on_and_ends_with_the_same_rows",
    ),
    Fault(
        "workers: what they made cannot be made again",
        "                return self.client.submit(\n"
        "                    block_tasks.of_one_version, __version__, function, *arguments, "
        "key=key\n"
        "                )",
        "                return self.client.scatter(self.client.submit(\n"
        "                    block_tasks.of_one_version, __version__, function, *arguments, "
        "key=key\n"
        "                ).result(), hash=False)",
        "test_a_killed_worker_changes_nothing",
    ),
    # --------------------------------------------------------- habits that users bring
    Fault(
        "family: as many components as features are told to be too many",
        "if self._bound_by_features and self.n_clusters > n_features:",
        "if self._bound_by_features and self.n_clusters >= n_features:",
        "test_more_components_than_features_are_told",
    ),
    Fault(
        "notebook: links of the page lead to the notebook",
        "_BASE = '<base href=\"about:srcdoc\">'",
        '_BASE = ""',
        "test_the_page_works_in_its_frame",
    ),
    Fault(
        "notebook: samples that the fit keeps are drawn in another unit",
        "samples * self._unit",
        "samples",
        "test_a_map_of_two_features_is_those_features",
    ),
    Fault(
        "habits: clusters that explain less than chance score as much as none",
        "        return float(explained - chance[0])",
        "        return 0.0",
        "test_the_planted_clusters_score_best",
    ),
    Fault(
        "habits: shares that rounding made equal are not told apart",
        "shares = led_by(shares, labels)",
        "shares = shares + 0 * labels[:, None]",
        "test_scores_that_are_nearly_the_same_stay_in_their_order",
    ),
    Fault(
        "habits: of equal shares any is kept",
        'columns = np.sort(np.argsort(-shares, axis=1, kind="stable")[:, :top], axis=1)',
        "columns = np.sort(np.argsort(shares, axis=1)[:, :top], axis=1)",
        "test_the_best_alone_are_a_sparse_part_of_all",
    ),
    # --------------------------------------------------------- walks, their time, and judges
    Fault(
        "walks: what is left out of the trace fades no faster than its largest eigenvalue",
        "        return float(longer**-power)",
        "        return 1.0",
        "test_few_eigenvectors_tell_the_time_as_well_as_all",
    ),
    Fault(
        "walks: what features leave out of a sample is forgotten",
        "return Features(F, np.maximum(own - row_lengths(F), 0))",
        "return Features(F, np.zeros_like(own))",
        "test_features_have_the_kernel_as_their_products",
    ),
    Fault(
        "walks: the free answer is never looked at by a second judge",
        "if rule.is_worth_a_look(weighed([at.walk], free, answer)):",
        "if False:",
        "test_rows_lead_to_the_answer_of_a_fit",
    ),
    Fault(
        "walks: links never count by density",
        "if is_sound(other) and rule.is_denser(weighed([judge], other, answer)):",
        "if False:",
        "test_samples_between_clusters_are_no_way_from_one_to_the_other",
    ),
    Fault(
        "walks: thin clusters are judged by density on the usual graph",
        "judge = dense.walk if at is asked[0] else graphs.walk(at.graph.by_density())",
        "judge = dense.walk",
        "test_thin_clusters_are_judged_on_their_own_graph",
    ),
    Fault(
        "walks: links count by the density at one end",
        "times_sides(here, self.K.entries(), here)",
        "times_sides(here, self.K.entries(), here / here)",
        "test_links_by_density_have_the_density_at_both_ends",
    ),
    Fault(
        "kernels: new samples have links that do not count by density",
        "return arithmetic.times_sides(here, values, density(self.r, self.usual)), own * here**2",
        "return values, own",
        "TestByDensity",
    ),
    Fault(
        "search: a bound from below is taken for one from above",
        "(furthest + 6 * self.slack * self.lengths[:, None]) / (1 - 4 * self.slack)",
        "furthest - 1e3 * self.slack * self.lengths[:, None]",
        "test_the_nearest_are_those_of_all_distances",
    ),
    Fault(
        "search: who has a new sample within reach is not asked",
        "near |= self.below <= within.astype(self.below.dtype) * (1 + self.slack)",
        "near |= False",
        "test_who_has_a_new_sample_within_reach_is_found",
    ),
    Fault(
        "eigenvectors: what is known is not kept apart",
        "block = beside(V[:, :start], block)[:, : end - start]",
        "block = beside(V[:, c:start], block)[:, : end - start]",
        "test_more_pieces_than_the_block_has_columns_are_found_if_they_are_known",
    ),
    Fault(
        "eigenvectors: no sample is lone",
        "hardly = squares <= _RESIDUAL**2",
        "hardly = squares < 0",
        "test_lone_samples_are_eigenvectors_without_a_filter",
    ),
    Fault(
        "eigenvectors: lone samples are searched until nothing is left over",
        "+ np.sqrt(np.square(left).sum(axis=0))",
        "+ 0 * np.sqrt(np.square(left).sum(axis=0))",
        "test_lone_samples_are_eigenvectors_without_a_filter",
    ),
    Fault(
        "eigenvectors: lone samples are found beside what is known of them",
        "found = -tall_times(self.known, (A.T @ small).astype(dtype))",
        "found = 0 * tall_times(self.known, (A.T @ small).astype(dtype))",
        "test_lone_samples_of_a_piece_that_is_known_are_not_found_twice",
    ),
    # ------------------------------------------------------- faster solvers of the family
    Fault(
        "A sweep forgets that entries are nonnegative",
        "                np.maximum(room, 0, out=own[j])",
        "                own[j] = room",
        "test_a_sweep_is_each_entry_at_its_best_in_turn",
    ),
    Fault(
        "An iterate that is higher than the one before is kept",
        "return self.reached(s) <= float(s.pace[0, 1]) + rounding",
        "return True",
        "test_no_iteration_raises_the_objective",
    ),
    Fault(
        "A start that is too large stays so",
        "        if turn < 0:\n            self.fit_size(s)\n",
        "",
        "test_a_start_of_any_size_loses_no_column",
    ),
    Fault(
        "Gaps are filled with zeros, not with the last factors",
        "B = self.on_G.pulled(product + self.rest(V, other) @ other)",
        "B = self.on_G.pulled(product)",
        "test_a_step_with_gaps_that_are_filled",
    ),
    Fault(
        "Missing entries: rows that do not know an entry take part in its guess",
        "used = known[near]  # (rows, looked_at, p)",
        "used = np.ones_like(known[near])",
        "test_a_guess_is_the_mean_of_the_nearest_rows_that_know",
    ),
    Fault(
        "Missing entries: all rows count alike, however far they are",
        "weight = (d2[:, -1:] / np.maximum(d2, least)) ** 2",
        "weight = np.ones_like(d2)",
        "test_a_guess_is_the_mean_of_the_nearest_rows_that_know",
    ),
    Fault(
        "Missing entries: the smaller ranks are not left",
        "least, chosen = found.error, each",
        "least = found.error",
        "test_ranks_rise_while_the_error_falls",
    ),
    Fault(
        "The size of a start forgets the penalty",
        "        return self.on_G.pulled(of_second)",
        "        return of_second",
        "test_a_start_gets_the_size_that_fits_best",
    ),
    Fault(
        "The weights of samples count as their squares",
        "np.sqrt(weight).astype(X.dtype)[:, None]",
        "weight.astype(X.dtype)[:, None]",
        "test_a_weight_of_two_is_the_sample_twice",
    ),
    Fault(
        "Weights of samples: distances are those that belong to the weighted K",
        "root, d = self.root, self.K.diagonal[:, None]",
        "root, d = self.root, self.diagonal[:, None]",
        "test_a_weight_of_two_is_the_sample_twice_with_kernels",
    ),
    Fault(
        "Weights of samples: the median is that of samples, not of copies",
        "below = np.cumsum(self.weight[order], dtype=np.float64)",
        "below = np.cumsum(np.ones(len(order)), dtype=np.float64)",
        "test_samples_count_as_often_as_their_weight_says",
    ),
    Fault(
        "Weights of samples: degrees count each sample once",
        "K.dot(K.root * np.ones((n, 1), K.dtype)) / K.root",
        "K.dot(np.ones((n, 1), K.dtype))",
        "test_eigenvectors_are_those_of_the_copies",
    ),
    Fault(
        "Weights of samples: kernel k-means compares weighted samples with means",
        "2 / self.K.root * s.KW",
        "2 * s.KW",
        "test_rounds_of_kernel_kmeans_are_those_of_the_copies",
    ),
    Fault(
        "Weights of samples: the degrees of a graph count each sample once",
        "(A @ weight)[:, None]",
        "A.sum(axis=1)[:, None]",
        "test_a_graph_of_ones_own",
    ),
    Fault(
        "Weights of samples: copies are not made",
        "return np.repeat(rows, weight.astype(np.intp))",
        "return rows[weight > 0]",
        "test_a_fit_that_counts_samples_is_that_of_the_copies",
    ),
    Fault(
        "Weights of samples: fractions are cut off",
        "if not np.array_equal(weight, np.round(weight)):",
        "if weight.max() < 0:",
        "test_a_fit_that_counts_samples_wants_whole_numbers",
    ),
    Fault(
        "Weights of samples: a stream forgets them",
        'if hasattr(self, "_weighted"):',
        'if hasattr(self, "_never"):',
        "test_a_stream_knows_no_weights",
    ),
    # ------------------------------------------------------- rules of LS-NMF, KLS-NMF, GLS-NMF
    Fault(
        "LS-NMF, W: the local term has the wrong sign",
        " += self.local(s.G, s.KG)",
        " -= self.local(s.G, s.KG)",
        f"{FORMULA} and update_G_free",
    ),
    Fault(
        "LS-NMF, G: the local term counts twice",
        " += self.local(s.W, s.KW)",
        " += 2 * self.local(s.W, s.KW)",
        f"{FORMULA} and update_G_free",
    ),
    Fault(
        "printed KLS-NMF, G: half of the rule is symmetrised",
        "A + dot(s.G, s.G.T @ B), B",
        "A + dot(s.G, sym(s.G.T @ B)), B",
        f"{FORMULA} and update_G_printed",
    ),
    Fault(
        "symmetrised KLS-NMF, G: a multiplier is not symmetric",
        "B + dot(s.G, sym(s.G.T @ A))",
        "B + dot(s.G, s.G.T @ A)",
        f"{FORMULA} and update_G_symmetric",
    ),
    Fault(
        "symmetric part: the half is missing",
        "return (M + M.T) / 2",
        "return M + M.T",
        f"{FORMULA} and update_G_symmetric",
    ),
    Fault(
        "signed K, W: the negative part does not pull up",
        " = plus(s.KG) + dot(",
        " = plus(s.KG) + 0 * dot(",
        f"{FORMULA} and update_G_free_signed",
    ),
    Fault(
        "signed K, G free: the negative part does not push down",
        "NW + dot(s.G, s.W.T @ PW)",
        "0 * NW + dot(s.G, s.W.T @ PW)",
        f"{FORMULA} and update_G_free_signed",
    ),
    Fault(
        "signed K, G orthogonal: the local term has the wrong sign",
        "minus(s.KW) + self.local(s.W, s.KW)",
        "minus(s.KW) - self.local(s.W, s.KW)",
        f"{FORMULA} and update_G_signed",
    ),
    Fault(
        "exact G: the value in the best column is not divided by its length",
        "plus(taken(scores, c)) / xp.where(root_C > 0, root_C, 1)",
        "plus(taken(scores, c))",
        "test_the_exact_G_step_is_the_best_of_all",
    ),
    Fault(
        "exact G: the local term of the scores has the wrong sign",
        "b = s.KW - self.local(s.W, s.KW)",
        "b = s.KW + self.local(s.W, s.KW)",
        "test_the_exact_G_step_is_the_best_of_all",
    ),
    Fault(
        "exact W: W = G without regard to the lengths of the columns",
        "lambda: lengths(s.G) ** 2",
        "lambda: lengths(s.G) ** 0",
        "test_W_is_G_after_every_step",
    ),
    Fault(
        "exact W: an empty column does not begin again",
        "return reseeded(f, s, W)",
        "return W",
        "test_an_empty_column_begins_again_where_samples_are_explained_worst",
    ),
    Fault(
        "exact W: W = G though that raises the objective",
        "return gain >= -10 *",
        "return True or gain >= -10 *",
        "test_exact_steps_never_raise_the_objective",
    ),
    Fault(
        "exact W: an empty column begins again at the sample that is explained best",
        "f.K.each(explained - f.K.diagonal)",
        "f.K.each(f.K.diagonal - explained)",
        "test_an_empty_column_begins_again_where_samples_are_explained_worst",
    ),
    Fault(
        "GLS-NMF, G: the graph does not attract but repels",
        " + self.gamma * s.AG",
        " - self.gamma * s.AG",
        WITH_GRAPH,
    ),
    Fault(
        "GLS-NMF, G: the degrees of the graph are missing",
        "self.gamma * self.graph.degrees * s.G",
        "self.gamma * s.G",
        WITH_GRAPH,
    ),
    Fault(
        "GLS-NMF, objective: the half of the graph term is missing",
        "self.gamma / 2 * ",
        "self.gamma * ",
        WITH_GRAPH,
    ),
    Fault(
        "objective: the trace of K is not halved",
        "return fit / 2 + ",
        "return fit + ",
        f"{FORMULA} and update_G_free",
    ),
    Fault(
        "objective: the product of K with both factors counts once, not twice",
        "fit = self.K.trace - 2 * WKG +",
        "fit = self.K.trace - WKG +",
        f"{FORMULA} and update_G_free",
    ),
    Fault(
        "distances: the factor 2 of the kernel is missing",
        "DV = KV * (-2 * scale)",
        "DV = KV * (-scale)",
        "test_distances_without_forming_them",
    ),
    Fault(
        "distances: where all samples are of one length it counts once, not twice",
        "(2 * scale * float(d[0])) * column_sums(V)",
        "(scale * float(d[0])) * column_sums(V)",
        "test_distances_without_forming_them or test_distances",
    ),
    Fault(
        "distances in all: the lengths of one factor's samples are missing",
        "float((d @ W) @ sums_G + sums_W @ (d @ G)) - 2 * WKG",
        "float((d @ W) @ sums_G) - 2 * WKG",
        f"{FORMULA} and update_G_free_signed or test_distances",
    ),
    Fault(
        "products made once: they are not made anew when their factor changes",
        'vars(self).setdefault("_made", {}).pop(factor, None)',
        "pass",
        "test_what_is_made_of_a_factor_is_made_anew_when_the_factor_changes",
    ),
    Fault(
        "tiny entries are left to become subnormal",
        "np.multiply(V, np.sqrt(np.finfo(V.dtype).tiny) <= V, out=V)",
        "np.multiply(V, 0 <= V, out=V)",
        "test_tiny_entries_are_flushed_so_that_no_product_is_subnormal",
    ),
    # --------------------------------------------------------------- rules of the other methods
    Fault(
        "NMF, G: the quotient is of another factor",
        "scaled(s.G, s.XF, dot(s.G, FF(s)))",
        "scaled(s.G, s.XF, dot(s.G, GG(s)))",
        "test_nmf_and_wnmf",
    ),
    Fault(
        "NMF, F: a factor 2 below the fraction",
        "scaled(s.F, s.XtG, dot(s.F, GG(s)))",
        "scaled(s.F, s.XtG, 2 * dot(s.F, GG(s)))",
        "test_nmf_and_wnmf",
    ),
    Fault(
        "NMF, objective: what is fitted counts once, not twice",
        "self.X.square_sum - 2 * self.fitted(s)",
        "self.X.square_sum - self.fitted(s)",
        "test_nmf_and_wnmf",
    ),
    Fault(
        "WNMF, G: the weights are missing below the fraction",
        "self.weighted(s) @ s.F",
        "s.G @ s.F.T @ s.F",
        "test_nmf_and_wnmf",
    ),
    Fault(
        "WNMF, objective: the weights are squared",
        "inner(self.weighted(s), s.G @ s.F.T)",
        "inner(self.weighted(s), self.weighted(s))",
        "test_nmf_and_wnmf",
    ),
    Fault(
        "ONMF, G: the multiplier of orthogonality is missing",
        "multiplied(s.G, A, dot(s.G, s.G.T @ A))",
        "multiplied(s.G, A, dot(s.G, GG(s)))",
        "test_onmf",
    ),
    Fault(
        "ONMF, S: G is taken for orthogonal",
        "s.G.T @ s.XF, GG(s) @ s.S @ FF(s)))",
        "s.G.T @ s.XF, s.S @ FF(s)))",
        "test_onmf",
    ),
    Fault(
        "ONMF, residual: what features gain is left out",
        "for V, (b, C) in ((s.G, self.of_samples(s, s.S)), (s.F, self.of_features(s, s.S))):",
        "for V, (b, C) in ((s.G, self.of_samples(s, s.S)),):",
        "test_the_residual_of_onmf",
    ),
    Fault(
        "Semi-NMF, G: the negative part does not pull up",
        "up = plus(s.XF) + dot(s.G, minus(FF(s)))",
        "up = plus(s.XF)",
        "test_semi_nmf",
    ),
    Fault(
        "GNMF, G: neighbours do not count in the unit of F",
        "s.XF + s.AG * N2",
        "s.XF + s.AG",
        "test_gnmf",
    ),
    Fault(
        "GNMF, F: the graph does not hold F down",
        "dot(s.F, GG(s)) + s.F * (self.alpha * self.roughness(s))",
        "dot(s.F, GG(s))",
        "test_gnmf",
    ),
    Fault(
        "GNMF, objective: the graph term does not count in the unit of F",
        "self.alpha * float(column_inner(s.F, s.F) @ self.roughness(s))",
        "self.alpha * float(self.roughness(s).sum())",
        "test_gnmf",
    ),
    Fault(
        "RMNMF, Z: the graph term has the wrong sign",
        "(s.Sigma - self.alpha * LG) / s.mu",
        "(s.Sigma + self.alpha * LG) / s.mu",
        "test_rmnmf",
    ),
    Fault(
        "RMNMF, G: the multiplier has the wrong sign",
        "(s.Sigma + self.alpha * LZ) / s.mu",
        "(self.alpha * LZ - s.Sigma) / s.mu",
        "test_rmnmf",
    ),
    Fault(
        "RMNMF: the weight of the equations does not grow",
        "np.minimum(GROWTH * s.mu,",
        "np.minimum(s.mu,",
        "test_rmnmf",
    ),
    Fault(
        "RMNMF: errors are cut without regard to the weight",
        "np.maximum(1, s.mu * lengths(s.Q)[:, None])",
        "np.maximum(1, lengths(s.Q)[:, None])",
        "test_rmnmf",
    ),
    Fault(
        "kernel k-means: samples go to the mean with half of the product",
        "2 / self.K.root * s.KW - column_inner(s.W, s.KW)",
        "1 / self.K.root * s.KW - column_inner(s.W, s.KW)",
        "test_kernel_kmeans_is_lloyd_with_distances_written_out",
    ),
    Fault(
        "kernel k-means: an empty cluster begins again at the nearest sample",
        'np.argsort(-distance, kind="stable")',
        'np.argsort(distance, kind="stable")',
        "test_kernel_kmeans_begins_an_empty_cluster_at_the_furthest_sample",
    ),
    # -------------------------------------------------------------- kernels, neighbours, diffusion
    Fault(
        "self-tuning kernel: the scale is the distance of the 8th neighbour",
        "r = np.sqrt(d2[:, min(SCALE_NEIGHBOR, m) - 1])",
        "r = np.sqrt(d2[:, min(SCALE_NEIGHBOR, m - 1)])",
        "test_self_tuning",
    ),
    Fault(
        "neighbours: one more than asked for is kept",
        "d2[:, min(n_neighbors, d2.shape[1]) - 1]",
        "d2[:, min(n_neighbors + 1, d2.shape[1]) - 1]",
        "test_self_tuning",
    ),
    Fault(
        "neighbours: of those that tie with the last, rounding picks some",
        "- 1] * (1 + TIE)",
        "- 1] * (1 - TIE)",
        "test_float32_is_float64_where_distances_tie or test_data_of_few_distinct_values",
    ),
    Fault(
        "neighbours: a sample is its own",
        "itself = found == rows[:, None]",
        "itself = found == found[:, -1:]",
        "test_neighbours_are_the_nearest",
    ),
    Fault(
        "approximate neighbours: cells are not told from samples",
        "j = j if some is None else some[j]",
        "j = j if True else j",
        "test_nearly_all_neighbours_are_found_and_the_share_is_told",
    ),
    Fault(
        "approximate neighbours: samples get the products of others that look into a cell",
        "wanted[:] = products[done : done + len(A)]",
        "wanted[:] = products[: len(A)]",
        "test_samples_are_compared_with_the_cells_around_their_own",
    ),
    Fault(
        "approximate neighbours: the copy of samples is kept after the search",
        "return cells.nearest_others()",
        "_in_cells.kept = cells\n    return cells.nearest_others()",
        "test_the_copy_of_a_search_ends_with_it",
    ),
    Fault(
        "new samples: they come back in the order of the search",
        "return kW[back], own[back]",
        "return kW, own",
        "test_new_samples_keep_their_order_whichever_are_searched_together",
    ),
    Fault(
        "rough distances: a sample is in two groups",
        "one, two, odd = np.split(nearest, [half, 2 * half], axis=1)",
        "one, two, odd = nearest[:, :half], nearest[:, half - 1 : -1], nearest[:, -1:]",
        "test_any_number_of_samples_has_its_nearest",
    ),
    Fault(
        "approximate neighbours: one cell is searched",
        "enough = int(max(least, min(better, room)))",
        "enough = 1",
        "test_nearly_all_neighbours_are_found_and_the_share_is_told",
    ),
    Fault(
        "approximate neighbours: no more are found where there is room",
        "enough = int(max(least, min(better, room)))",
        "enough = int(least)",
        "test_where_there_is_room_more_neighbours_are_found",
    ),
    Fault(
        "approximate neighbours: cells are in any order",
        "[half[bisected(centres[half])] for half in halves]",
        "[half for half in halves]",
        "test_cells_that_are_near_come_one_after_the_other",
    ),
    Fault(
        "links: weighed in another order, and left there",
        "SparseGram(weighed[back][:, back], K.near)",
        "SparseGram(weighed, K.near)",
        "test_an_order_of_the_samples_changes_no_weight",
    ),
    Fault(
        "eigenvectors: the filter takes rows of another iterate",
        "before[rows] *= -scale * following",
        "before[rows] *= -scale",
        "test_the_filter_is_a_chebyshev_polynomial",
    ),
    Fault(
        "all pairs: close samples keep their rounding",
        "d2[i, j] = squared_distances(X, i, X, j)",
        "pass",
        "test_all_pairs_at_once_are_the_same",
    ),
    Fault(
        "halves: a sample that is as near to both sides moves for ever",
        "moves = np.where(side, other >= own, other > own)",
        "moves = other >= own",
        "test_clusters_are_cut_side_by_side_as_each_would_be_alone",
    ),
    Fault(
        "eigenvectors: columns are left as long as they are",
        "Q = tall_times(Q, linalg.solve_triangular(R, np.eye(len(R))).astype(Q.dtype))",
        "pass",
        "test_columns_that_depend_on_each_other_have_an_orthogonal_basis",
    ),
    Fault(
        "new samples: an old one that comes again counts itself as a neighbour",
        "itself = d2[first] == 0",
        "itself = d2[first] < 0",
        "test_old_samples_get_their_rows_again",
    ),
    Fault(
        "new samples: only those count that are near from both sides",
        "(d2 <= reach[j]) | (d2",
        "(d2 <= reach[j]) & (d2",
        "test_old_samples_get_their_rows_again",
    ),
    Fault(
        "diffusion: products are scaled on one side only",
        "return d.c * d.walk(d.c * V, d.steps)",
        "return d.walk(d.c * V, d.steps)",
        "test_any_gram_can_be_diffused or test_diffusion_of_few_and_of_many_samples_is_the_same",
    ),
    Fault(
        "diffusion: divided by degrees, not by their roots",
        "1 / xp.sqrt(xp.where(values > 0, values, 1)), 0)[:, None]",
        "1 / xp.where(values > 0, values, 1), 0)[:, None]",
        "test_diffusion_of_a_precomputed_kernel or test_any_gram_can_be_diffused",
    ),
    Fault(
        "diffusion: new samples do not know the scale of the old ones",
        "there = d.walk_on(d.scale * W)",
        "there = d.walk_on(W)",
        "test_old_samples_keep_their_labels_and_rows or test_diffusion_of_a_precomputed_kernel",
    ),
    Fault(
        "links: those in both neighbourhoods count twice in the union",
        "(np.diff(new.indptr)[i] + self.counts[j] - both)",
        "(np.diff(new.indptr)[i] + self.counts[j])",
        "test_sparse_links and test_against_the_naive_twin",
    ),
    Fault(
        "links: the share is not squared",
        "sparse.coo_array((shares**2, (i, j))",
        "sparse.coo_array((shares, (i, j))",
        "test_sparse_links and test_against_the_naive_twin",
    ),
    # --------------------------------------------------------------- labels and new samples
    Fault(
        "labels: a sample whose coefficients are all zero keeps any label",
        "return np.where(known, labels, most)",
        "return labels",
        "test_samples_and_features_without_a_known_entry",
    ),
    Fault(
        "labels: with the printed rules a lost sample gets the first cluster",
        "xp.where(xp.any(s.G, axis=1), xp.argmax(s.G, axis=1), ",
        "xp.where(True, xp.argmax(s.G, axis=1), ",
        "test_with_the_printed_rules_a_lost_sample_has_the_label_of_its_largest_score",
    ),
    Fault(
        "labels: where no cluster gains, the weight of the local term decides",
        "xp.where(fits, scores, self.likeness(kW))",
        "scores",
        "test_where_no_cluster_gains_the_local_term_does_not_decide",
    ),
    Fault(
        "labels: a sample like no cluster does not go with the nearest",
        "xp.max(self.likeness(kW), axis=1) <= _STRANGE * xp.sqrt(own)",
        "xp.max(self.likeness(kW), axis=1) < 0 * own",
        "test_a_sample_far_away_goes_with_the_nearest",
    ),
    Fault(
        "new samples: their distances count the kernel once, not twice",
        "self.sums + self.lengths - 2 * kW)",
        "self.sums + self.lengths - kW)",
        "test_old_samples_keep_their_labels_and_rows",
    ),
    Fault(
        "new samples: coefficients are not held above zero",
        "G[:, a] = plus(G[:, a] + (b[:, a] - G @ self.C[:, a]) / C[a])",
        "G[:, a] = G[:, a] + (b[:, a] - G @ self.C[:, a]) / C[a]",
        "test_free_coefficients_are_the_nonnegative_minimum",
    ),
    Fault(
        "new samples of kernel k-means: the length of the means is not squared",
        "np.diag(self.C) / self.length**2",
        "np.diag(self.C) / self.length",
        "test_new_samples_go_to_the_nearest_mean_whatever_the_sizes_of_clusters",
    ),
    # ------------------------------------------------------------- the loop and its checkpoints
    Fault(
        "convergence: the change is compared with the tolerance itself",
        "moved < max(tol * abs(self.losses[-1]), rounding)",
        "moved < max(tol, rounding)",
        "test_the_unit_of_the_kernel_does_not_decide_when_a_fit_ends",
    ),
    Fault(
        "convergence: a single step that changes little ends a fit",
        "abs(self.losses[-1 - patience] - loss)",
        "abs(self.losses[-2] - loss)",
        "test_patience",
    ),
    Fault(
        "convergence: a tolerance of zero ends fits that stand still",
        "elif tol > 0 and self.stands_still(",
        "elif self.stands_still(",
        "test_tolerance_zero_runs_all_iterations",
    ),
    Fault(
        "batch: fits that trade places keep their old numbers",
        "fit.place, last.place = last.place, fit.place",
        "pass",
        "test_loop and test_a_batch_is_its_fits_one_by_one",
    ),
    Fault(
        "batch: what a fit that ended had found is lost",
        "stack[last.place, ...] = ended",
        "pass",
        "test_loop and test_a_batch_is_its_fits_one_by_one",
    ),
    Fault(
        "the best of several: one that collapsed can be it",
        "min(solutions, key=lambda one: (",
        "min(solutions, key=lambda one: (one.objective, ",
        "test_one_that_collapsed_is_the_best_only_if_all_did",
    ),
    Fault(
        "screening: the worst starts go on",
        "key=lambda one: one.solution.objective)",
        "key=lambda one: -one.solution.objective)",
        "test_screening_keeps_the_lowest_of_each_kind",
    ),
    Fault(
        "phases: the first takes all iterations",
        "budget = left // (",
        "budget = left // 1 ** (",
        "test_each_phase_has_its_share_of_the_iterations",
    ),
    Fault(
        "automatic weight of the local term: another share of the threshold",
        "[share * threshold if",
        "[threshold if",
        "test_auto_lam_is_one_percent_of_what_leaves_half_of_the_samples_alone",
    ),
    Fault(
        "checkpoint: factors come back in other places",
        "self.stacks[name][standing.place] = value",
        "self.stacks[name][fit.place] = value",
        "test_fits_that_have_traded_places_go_on_there",
    ),
    Fault(
        "checkpoint: how much the factors changed is forgotten",
        "fit.changes = {name: list(values) for name, values in standing.changes.items()}",
        "fit.changes = {}",
        "test_an_interrupted_fit_goes_on_to_the_last_bit",
    ),
    Fault(
        "checkpoint: the random generator begins anew",
        "self._set_generator(entry.generator)",
        "pass",
        "test_what_was_drawn_at_random_is_kept",
    ),
    Fault(
        "checkpoint: one of another fit is taken",
        "if then.get(name) != now.get(name)]",
        "if False]",
        "test_the_checkpoint_of_another_fit_is_refused",
    ),
    Fault(
        "checkpoint: factors that were changed are taken",
        "if not difference < _SAME:",
        "if False:",
        "test_a_file_that_was_tampered_with_is_refused",
    ),
    Fault(
        "race: the first start wins, whatever it came to",
        "first = next(one for one in sound if one.objective <= end)",
        "first = sound[0]",
        "test_the_first_of_equal_starts_wins",
    ),
    Fault(
        "race: rounding decides between equal starts",
        "first = next(one for one in sound if one.objective <= end)",
        "first = lowest(sound)",
        "test_the_first_of_many_equal_starts_wins",
    ),
    Fault(
        "race: single precision decides what it cannot know",
        "self.undecided = not progress.objective > self.least",
        "self.undecided = False",
        "test_what_single_precision_cannot_tell_is_told_in_double",
    ),
    Fault(
        "k-means side by side: the lengths of the centres do not count",
        "closeness -= halves",
        "closeness -= 0 * halves",
        "test_nearest_centres_however_many_samples_at_a_time",
    ),
    Fault(
        "k-means side by side: samples that leave a cluster are added to it",
        "np.array([1, -1], X.dtype)",
        "np.array([1, 1], X.dtype)",
        "test_no_sample_is_nearer_to_another_centre or test_digits_have_the_same_labels",
    ),
    Fault(
        "k-means side by side: the worst candidate becomes a centre",
        "best = (distances @ ones).argmin(axis=1)",
        "best = (distances @ ones).argmax(axis=1)",
        "test_the_same_samples_are_drawn_as_centres",
    ),
    Fault(
        "regrouping: what two clusters have in common counts half",
        "np.hypot((a - b) / 2, np.maximum(between, 0))",
        "np.hypot((a - b) / 2, np.maximum(between, 0) / 2)",
        "test_joining_costs_what_the_best_combination_leaves_out",
    ),
    Fault(
        "regrouping: a sample leaves its cluster at no cost",
        "entries(gains, target) - loss",
        "entries(gains, target)",
        "test_no_exchange_promises_more_than_the_eigenvalues_of_blocks_give",
    ),
    Fault(
        "several kernels: weights are shares, not their fourth power",
        "raised = np.maximum(shares, 0) ** _SHARPNESS",
        "raised = np.maximum(shares, 0)",
        "test_weights_of_kernels_are_the_fourth_powers_of_their_shares",
    ),
    Fault(
        "several kernels: what random clusters explain is not taken off",
        "- means.sum() - total * (k - 1) / max(n - 1, 1))",
        "- means.sum())",
        "test_shares_of_variance_are_those_of_the_naive_twin",
    ),
    Fault(
        "threads: more than the user allows",
        "limits = {kind: min(useful, count)",
        "limits = {kind: max(useful, count)",
        "test_limits_of_the_user_hold",
    ),
    # -------------------------------------------------------------------------------- metrics
    Fault(
        "accuracy: clusters go to the classes that they match least",
        "maximize=True)\n    return float(counts",
        "maximize=False)\n    return float(counts",
        "test_accuracy_with_more_and_with_fewer_clusters",
    ),
    Fault(
        "accuracy: two clusters may go to the same class",
        "float(counts[rows, columns].sum() / counts.sum())",
        "float(counts.max(axis=0).sum() / counts.sum())",
        "test_accuracy_with_more_and_with_fewer_clusters",
    ),
    Fault(
        "mutual information: divided by the arithmetic mean of the entropies",
        '{"sqrt": "geometric", "max": "max"}',
        '{"sqrt": "arithmetic", "max": "max"}',
        "test_nmi_is_the_formula",
    ),
    Fault(
        "purity: the commonest cluster of each class is counted",
        "counts.max(axis=0).sum()",
        "counts.max(axis=1).sum()",
        "test_purity_is_the_share_of_the_commonest_class",
    ),
    # --------------------------------------------------------------------------------- checks
    Fault(
        "check: missing values are let in",
        '"allow-nan" if gaps else True',
        '"allow-nan"',
        "test_missing_values_are_named_with_what_to_do",
    ),
    Fault(
        "check: infinite values are let in",
        "ensure_all_finite=finite",
        "ensure_all_finite=False",
        "test_what_is_not_a_table_of_numbers_is_refused",
    ),
    Fault(
        "check: negative values are let into nonnegative methods",
        "if not self.signed and least < 0:",
        "if False:",
        "test_signed_data_into_a_nonnegative_method",
    ),
    Fault(
        "check: a start with negative entries is let in",
        "if value.min() < 0:",
        "if False:",
        "test_wrong_arguments_of_kls_nmf or test_a_wrong_argument_is_named",
    ),
    Fault(
        "check: a kernel matrix that is not symmetric is let in",
        "if gram.asymmetry() > np.sqrt(np.finfo(gram.dtype).eps):",
        "if False:",
        "test_reliability and test_a_matrix_that_is_no_kernel_is_refused",
    ),
    Fault(
        "check: a kernel with negative squared distances is let in",
        "if local and K.smallest_distance() < -np.sqrt(limits.eps):",
        "if False:",
        "test_reliability and test_a_matrix_that_is_no_kernel_is_refused",
    ),
    Fault(
        "check: a kernel of both signs that is not positive semidefinite is let in",
        "if values.min() < -1e-3 * np.abs(values).max():",
        "if False:",
        "test_an_indefinite_kernel_of_both_signs",
    ),
    Fault(
        "check: negative weights of WNMF are let in",
        "    if least < 0:",
        "    if False:",
        "test_weights_that_are_none",
    ),
    Fault(
        "memory: nothing is refused that would not fit",
        "if fits(size, limit, free):",
        "if True:",
        "test_more_than_the_memory_is_refused or test_memory_that_suffices_is_no_reason_to_refuse",
    ),
    # ---------------------------------------------------------- files, downloads, commands, report
    Fault(
        "report: names from files are not escaped",
        "autoescape=True",
        "autoescape=False",
        "test_names_from_files_are_text_and_nothing_else",
    ),
    Fault(
        "report: its title is not escaped",
        "<h1><bdi>{{ name }}</bdi></h1>",
        "<h1><bdi>{{ name|safe }}</bdi></h1>",
        "test_names_from_files_are_text_and_nothing_else or test_no_name_changes_the_page",
    ),
    Fault(
        "report: what is hidden in a name stays hidden",
        'return "".join("\\ufffd" if _hidden(c) else c for c in text)',
        "return text",
        "test_names_become_short_and_visible",
    ),
    Fault(
        "report: names are set as HTML by the scripts",
        "made.textContent = text",
        "made.innerHTML = text",
        "test_hostile_names_stay_text_in_every_new_place",
    ),
    Fault(
        "report: a name that was typed can be a formula",
        'quoted(harmless(now.names.get(homeOf(i)) ?? ""))',
        'quoted(now.names.get(homeOf(i)) ?? "")',
        "test_the_download_has_the_changes_and_python_repeats_them",
    ),
    Fault(
        "report: merges are not in the download",
        "const cluster = outliers.has(i) ? -1 : homeOf(i);",
        "const cluster = outliers.has(i) ? -1 : clusterOf[i];",
        "test_the_download_has_the_changes_and_python_repeats_them",
    ),
    Fault(
        "report: effect sizes by the spread of all samples",
        "(own - others) / Math.sqrt(Math.max(1 - between, 1e-9))",
        "own - others",
        "test_every_feature_of_a_cluster_has_its_effect_size",
    ),
    Fault(
        "table of results: a name can be a formula",
        """return _FORMULA.sub(r"\\1'\\2", name)""",
        "return name",
        "test_no_name_becomes_a_formula",
    ),
    Fault(
        "table of results: a name can be a formula after a space",
        """(\\s*['\\"]?\\s*[=+""",
        "([=+",
        "test_no_name_becomes_a_formula",
    ),
    Fault(
        "levels: persistence counts the directions before it",
        "np.log(rates[1:] / rates[:-1])",
        "np.log(rates[:-1] / rates[1:])",
        "test_what_slow_directions_say_as_it_is_written",
    ),
    Fault(
        "levels: the constant direction is explained too",
        "return float((whole - 1) / (k - 1))",
        "return float(whole / k)",
        "test_what_slow_directions_say_as_it_is_written",
    ),
    Fault(
        "number of clusters: the coarsest near the best is taken",
        "return int(candidates[score >= NEAR * score.max()].max())",
        "return int(candidates[score >= NEAR * score.max()].min())",
        "test_the_finest_number_near_the_best_is_taken",
    ),
    Fault(
        "number of clusters: what cuts of a piece explain does not count",
        "np.clip((explained - chance) / (1 - chance), 0, 1)",
        "np.clip(explained, 0, 1)",
        "test_cuts_that_explain_no_more_than_chance_are_not_clear",
    ),
    Fault(
        "number of clusters: specks count as clusters",
        "clarity**3 * evenness",
        "clarity**3",
        "test_the_score_is_made_of_what_is_seen",
    ),
    Fault(
        "number of clusters: modularity counts in the plane too",
        "np.clip(dimension - PLANE, 0, MOST_POWER)",
        "MOST_POWER",
        "test_the_score_is_made_of_what_is_seen",
    ),
    Fault(
        "number of clusters: modularity is not beyond chance",
        "kept = (squares @ slow.values[:k]).sum() - np.square(weights).sum()",
        "kept = (squares @ slow.values[:k]).sum()",
        "test_what_slow_directions_say_as_it_is_written",
    ),
    Fault(
        "number of clusters: a rival does not matter",
        "rival <= RIVAL * own",
        "True",
        "test_when_an_answer_is_clear",
    ),
    Fault(
        "levels: separate pieces are not joined by what is near",
        "if next_one > _FARTHER * last:",
        "if False:",
        "test_two_levels_are_both_there_and_nested",
    ),
    Fault(
        "pieces: the graph alone says which belong together",
        "if graph.pieces <= self.k:",
        "if True:",
        "test_a_fit_with_fewer_clusters_than_pieces_joins_those_that_are_near",
    ),
    Fault(
        "pieces: how large they are does not count",
        "d2 * (sizes[:, None] * sizes / (sizes[:, None] + sizes))",
        "d2 * 1.0",
        "test_pieces_are_joined_as_written_slowly",
    ),
    Fault(
        "pieces: a few outliers stay a cluster",
        "_LARGER * sizes[order] >= sizes[order[k - 1]]",
        "sizes[order] >= 0",
        "test_a_few_samples_far_from_all_are_no_cluster",
    ),
    Fault(
        "levels: links that count by density do not count",
        "others += [wide] * few + [wide.by_density()]",
        "others += [wide] * few",
        "test_graphs_that_count",
    ),
    Fault(
        "levels: many samples have as many graphs as few",
        "few = len(usual.slow.U) <= _FEW",
        "few = True",
        "test_graphs_that_count",
    ),
    Fault(
        "levels: the fit finds eigenvectors again that told the number",
        "walk_on(graph.K, self.k) if known is None else Walk(known.spectrum, self.k)",
        "walk_on(graph.K, self.k)",
        "test_no_eigenvectors_are_found_twice",
    ),
    Fault(
        "levels: samples far from all others hide clusters",
        "graph.by_rank() if graph.lonely > _LONELY else graph",
        "graph",
        "test_samples_far_from_all_others_do_not_hide_clusters",
    ),
    Fault(
        "levels: a graph counts that has no room for its neighbours",
        "has_room = one.neighbors <= room",
        "has_room = room > 0",
        "test_a_graph_without_room_for_its_neighbours_does_not_count",
    ),
    Fault(
        "levels: the fit makes graphs again that were counted on",
        "if graph.q == q:",
        "if False:",
        "test_no_graph_is_made_twice",
    ),
    Fault(
        "outliers: new ones get a cluster",
        "np.where(known.outliers(samples), -1, to_host(labels))",
        "to_host(labels)",
        "test_new_samples_are_labelled_alike",
    ),
    Fault(
        "archives: names may lead out of them",
        "if _leads_elsewhere(name):",
        "if False:",
        "test_hostile_archives",
    ),
    Fault(
        "archives: a drive or a colon may lead out of them",
        'or ".." in parts or ":" in parts[0]',
        'or ".." in parts',
        "test_hostile_archives",
    ),
    Fault(
        "archives: they may unpack to any size",
        "if total > limit:",
        "if False:",
        "test_hostile_archives",
    ),
    Fault(
        "arrays: objects are not refused",
        'if dtype.hasobject or dtype.kind == "V":',
        'if dtype.kind == "V":',
        "test_hostile_arrays",
    ),
    Fault(
        "downloads: a file with another hash is kept",
        "if digest.hexdigest() not in sha256:",
        "if False:",
        "test_hostile_answers",
    ),
    Fault(
        "downloads: a server may send without end",
        "if done > size:",
        "if False:",
        "test_hostile_answers",
    ),
    Fault(
        "downloads: addresses need not be of the web",
        'if not url.lower().startswith(("https://", "http://")):',
        "if False:",
        "test_only_the_web",
    ),
    Fault(
        "data sets: a file with another hash is parsed",
        "if found not in dataset.original.sha256:",
        "if False:",
        "test_an_original_with_another_hash_is_not_even_parsed",
    ),
    Fault(
        "written aside: a file can take its name before it is on the disk",
        "            file.flush()\n            os.fsync(file.fileno())",
        "            pass",
        "test_a_full_disk",
    ),
    Fault(
        "written aside: the file takes its name piece by piece",
        "aside.replace(path)",
        "path.write_bytes(aside.read_bytes())",
        "test_a_file_that_is_written_anew_is_another_file",
    ),
    Fault(
        "written aside: what failed is left behind",
        "aside.unlink(missing_ok=True)",
        "pass",
        "test_a_full_disk or test_an_interrupt_leaves_nothing_behind",
    ),
    Fault(
        "model files: a record that is in no table is taken for a dict",
        '[node["record"]]',
        '.get(node["record"], dict)',
        HOSTILE_MODELS,
    ),
    Fault(
        "model files: an estimator that is in no table is taken for k-means",
        '_ESTIMATORS[node["estimator"]]',
        '_ESTIMATORS.get(node["estimator"], KMeans)',
        HOSTILE_MODELS,
    ),
    Fault(
        "model files: data may stand in the place of methods",
        'if hasattr(kind, name) or name.startswith("__"):',
        "if False:",
        HOSTILE_MODELS,
    ),
    Fault(
        "model files: centres of k-means may have another shape",
        '"cluster_centers_": _Wanted("kp")',
        '"cluster_centers_": _Wanted("??")',
        HOSTILE_MODELS,
    ),
    Fault(
        "command: every error ends with the same exit code",
        'code = getattr(error, "exit_code", 1)',
        "code = 1",
        "test_more_than_the_memory_is_refused",
    ),
    Fault(
        "command: Ctrl-C ends as if all were well",
        "_INTERRUPTED = 130",
        "_INTERRUPTED = 0",
        "test_ctrl_c",
    ),
    Fault(
        "command: names from files can command a terminal",
        "each if each.isprintable() else _instead(each)",
        "each",
        "test_names_do_not_command_the_terminal or test_no_name_commands_a_terminal",
    ),
    # ------------------------------------------------------- the gate for what comes from outside
    Fault(
        "gate: the last pointer of a sparse matrix is not looked at",
        "pointers[0] == 0 and pointers[-1] == count and (pointers[1:] >= pointers[:-1]).all()",
        "pointers[0] == 0 and (pointers[1:] >= pointers[:-1]).all()",
        "test_what_the_gate_lets_in_is_sound",
    ),
    Fault(
        "gate: pointers may fall",
        "pointers[0] == 0 and pointers[-1] == count and (pointers[1:] >= pointers[:-1]).all()",
        "pointers[0] == 0 and pointers[-1] == count",
        "test_what_the_gate_lets_in_is_sound",
    ),
    Fault(
        "gate: indices may be negative",
        'array(indices, what, "iu", least=0, most=most)',
        'array(indices, what, "iu", most=most)',
        "test_what_the_gate_lets_in_is_sound",
    ),
    Fault(
        "gate: rows may be claimed for nothing",
        "_ROWS, _COLUMNS = 10**6, 2**22",
        "_ROWS, _COLUMNS = 10**12, 2**22",
        "test_rows_and_columns_for_next_to_no_entry",
    ),
    Fault(
        "gate: columns may be claimed for nothing",
        "_ROWS, _COLUMNS = 10**6, 2**22",
        "_ROWS, _COLUMNS = 10**6, 2**40",
        "test_rows_and_columns_for_next_to_no_entry",
    ),
    Fault(
        "gate: numbers need not be finite",
        "need(not finite or np.isfinite(value).all()",
        "need(True",
        "test_no_array_of_a_model_may_be_altered",
    ),
    Fault(
        "gate: a shape may have fractions",
        "whole = np.isfinite(found).all() and (found == np.rint(found)).all()",
        "whole = np.isfinite(found).all()",
        "test_sparse_matrices_of_an_odd_shape",
    ),
    Fault(
        "model files: factors may be negative",
        '"W_": _Wanted("nk", least=0)',
        '"W_": _Wanted("nk")',
        "test_signs_of_factors",
    ),
    Fault(
        "model files: labels may be of clusters that are not there",
        '"labels_": _Wanted("l", "i", 0, "k")',
        '"labels_": _Wanted("l", "i", 0)',
        "test_no_array_of_a_model_may_be_altered",
    ),
    Fault(
        "model files: the checkpoint of whoever made it is used",
        '_OF_ONE_FIT = ("engine", "checkpoint")',
        '_OF_ONE_FIT = ("engine",)',
        "test_the_checkpoint_of_a_loaded_model_is_nobodys_file",
    ),
    Fault(
        "archives: a text may become any number of objects",
        "_GROWTH * text.size",
        "0 * text.size",
        "test_a_text_that_grows",
    ),
    Fault(
        ".mat: all parts of a variable are taken at once",
        "list(islice(_elements(part, order), _PARTS))",
        "list(_elements(part, order))",
        "test_a_mat_of_millions_of_empty_parts",
    ),
    Fault(
        ".mat: without the memory check of what is packed",
        'memory.require(2 * size, f"What {path} holds", "Use less data.")',
        "pass",
        "test_a_mat_that_has_no_room",
    ),
    Fault(
        ".mat: without the structure check",
        'checks.csr(values[:count], rows[:count], starts, shape, name, by="columns")',
        '__import__("scipy").sparse.csc_array((values[:count], rows[:count], starts), shape=shape)',
        "test_a_sparse_mat_that_would_end_the_process and fractions",
    ),
    Fault(
        ".parquet: two columns of one name are read as one",
        "if count > 1]",
        "if count > 9]",
        "test_parquet_with_two_columns_of_one_name",
    ),
    Fault(
        "images: any decoder is tried",
        "Image.open(path, formats=FORMATS)",
        "Image.open(path)",
        "test_images_of_uncommon_kinds_are_refused_whatever_they_are_called",
    ),
    Fault(
        "images: links are followed wherever they lead",
        "if file.is_symlink() and not file.resolve().is_relative_to(home):",
        "if False:",
        "test_links_that_lead_out_of_a_folder_are_not_followed",
    ),
    # ------------------------------------------------------- results, signals
    Fault(
        "results: nothing says that they are half in place",
        '{"made_by": MADE_BY, "unfinished": True}',
        "earlier(folder) or {}",
        "test_a_kill_at_any_step_leaves_results_of_one_run",
    ),
    Fault(
        "results: result.json is put in place first",
        "for name in (*new, SUMMARY)]",
        "for name in (SUMMARY, *new)]",
        "test_a_kill_at_any_step_leaves_results_of_one_run or test_files_of_others_stay",
    ),
    Fault(
        "results: moved file by file where folders could trade names",
        "        exchange(aside, folder)\n        return True",
        "        return False",
        "test_a_kill_at_any_step_leaves_results_of_one_run",
    ),
    Fault(
        "results: files of others go with the old folder",
        "if strange or aside.parent != folder.parent or",
        "if aside.parent != folder.parent or",
        "test_files_of_others_stay_and_so_does_the_folder",
    ),
    Fault(
        "results: a model of another run is taken",
        "if known is None or known == _digest(folder / name):",
        "if True:",
        "test_predict_refuses_results_of_two_runs",
    ),
    Fault(
        "written aside: what living processes write is removed",
        "                lock_now(lock)\n                _remove(aside)",
        "                _remove(aside)",
        "test_leftovers_of_the_dead_are_removed_and_those_of_the_living_never",
    ),
    Fault(
        "written aside: what dead processes left stays",
        "    remove_leftovers(path)\n    aside, lock",
        "    aside, lock",
        "test_leftovers_of_the_dead_are_removed_and_those_of_the_living_never",
    ),
    Fault(
        "signals: SIGTERM ends a command as Ctrl-C does, to the code",
        "self.exit_code = 128 + number",
        "self.exit_code = 130",
        "test_signals_in_every_stage",
    ),
    Fault(
        "tables: of the columns that a model needs, one is named, whatever is missing",
        "    if len(absent) > 1:",
        "    if False:",
        "test_columns_that_are_left_out_are_not_asked_for_again",
    ),
    Fault(
        "signals: nohup does not help",
        "in (signal.SIG_DFL, signal.default_int_handler):",
        "in (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler):",
        "test_who_is_not_to_hang_up_does_not",
    ),
    Fault(
        "signals: results can be half in place",
        "_alone(real.parent), undisturbed():",
        "_alone(real.parent):",
        "test_a_signal_that_comes_too_late or test_a_signal_waits",
    ),
    Fault(
        "command: a closed output takes the number of a file",
        "    _open_closed()\n    try:",
        "    try:",
        "test_standard_files_that_are_closed",
    ),
    Fault(
        "command: an output that takes no more is like any error",
        "_NO_OUTPUT = 4",
        "_NO_OUTPUT = 1",
        "test_an_output_that_takes_no_more",
    ),
    Fault(
        "table of results: wide signs can begin a formula",
        '\\uff1d\\uff0b\\uff0d\\uff20])")',
        '])")',
        "test_no_name_becomes_a_formula",
    ),
    Fault(
        "table of results: a formula can follow another separator",
        're.compile(r"(^|[;,\\t|])',
        're.compile(r"(^|[,])',
        "test_no_name_becomes_a_formula_whatever_separates_cells",
    ),
    Fault(
        "checkpoint: an interrupt between its name and what is known of it makes it a stranger's",
        "            with undisturbed():\n                with written_aside(self.path) as file:",
        "            if True:\n                with written_aside(self.path) as file:",
        "test_an_interrupt_while_the_checkpoint_is_written",
    ),
    Fault(
        "archives: an interrupt leaves a part open",
        "with undisturbed():  # an archive",
        "if True:  # an archive",
        "test_an_interrupt_waits_for_the_archive",
    ),
    Fault(
        "signals: what waited is forgotten",
        "signal.raise_signal(came)",
        "pass",
        "test_a_signal_waits_until_the_work_is_done",
    ),
    Fault(
        "signals: the handlers of before are not put back",
        "            signal.signal(number, handler)\n        for came in waiting",
        "            pass\n        for came in waiting",
        "test_a_signal_waits_until_the_work_is_done",
    ),
    Fault(
        "checkpoint: a file of another program is written over, and removed",
        "if now is None or now == self.known:",
        "if True:",
        "test_a_file_that_another_program_put_in_its_place_is_theirs",
    ),
    # ------------------------------------------------------- fits
    Fault(
        "crowds: all have the same of their equals for neighbours",
        "found[members, :count] = members[(np.arange(g)[:, None] + steps) % g]",
        "found[members, :count] = members[steps]",
        "test_nobody_is_the_neighbour_of_everyone",
    ),
    Fault(
        "copies: they are neighbours of their originals",
        "return Copies(distinct, which) if sound else None",
        "return None",
        "test_samples_given_several_times_are_clustered_alike",
    ),
    Fault(
        "copies: they count where a few samples are no cluster",
        "some = labels if self.copies is None else labels[self.copies.distinct]",
        "some = labels",
        "test_copies_count_once_where_a_few_samples_are_no_cluster",
    ),
    Fault(
        "copies: marks that are equal by chance make samples equal",
        "for members in crowds_of(X, np.flatnonzero(alike), 2):",
        "for members in [np.flatnonzero(alike)]:",
        "test_equal_samples_are_found",
    ),
    Fault(
        "copies: the nearest is told by its place among distinct samples",
        "return np.asarray(among[first[np.searchsorted(distinct, found)]])",
        "return np.asarray(found)",
        "test_the_nearest_among_some",
    ),
    Fault(
        "copies: a model may say that samples are of distinct ones that are not there",
        """            inside["n"] = int(which.max()) + 1\n""",
        """            inside.pop("n")\n""",
        "test_no_array_of_a_model_may_be_altered",
    ),
    Fault(
        "runner-up: the answer that loses most",
        "in sorted(others, key=lambda one: one.lost)",
        "in sorted(others, key=lambda one: -one.lost)",
        "test_the_runner_up_is_the_other_answer_that_loses_least",
    ),
    Fault(
        "runner-up: clusters are compared by their numbers",
        "shared[linear_sum_assignment(-shared)].sum()",
        "shared.diagonal().sum()",
        "test_the_runner_up_is_the_other_answer_that_loses_least",
    ),
    Fault(
        "starts: chosen clusters begin exact steps with a fifth of all others",
        "if not exact or self.way != CHOSEN:",
        "if True:",
        "test_chosen_clusters_begin_exact_steps_as_they_are",
    ),
    Fault(
        "threads: a computation that ends lifts the limits of others",
        "        if not self.asked:\n            self.before.restore",
        "        if True:\n            self.before.restore",
        "test_limits_that_end_in_another_order_than_they_began",
    ),
    Fault(
        "labels: a cluster that lost its samples leaves a gap",
        "            if len(used) > used[-1]:\n                break",
        "            break",
        "test_fewer_clusters_than_asked_for_are_counted_without_gaps",
    ),
    Fault(
        "labels: clusters are numbered as their columns stand",
        "by_appearance = isinstance(self.init, str)",
        "by_appearance = False",
        "test_clusters_are_numbered_as_they_appear",
    ),
    Fault(
        "labels of factors: clusters are numbered as their columns stand",
        "tidied(H, G, labels, by_appearance=isinstance(self.init, str))",
        "tidied(H, G, labels, by_appearance=False)",
        "test_clusters_are_numbered_as_they_appear",
    ),
    Fault(
        "notes: of a fit that did not converge the missing clusters are not told",
        "            notes.append(FewerClusters(found, self.n_clusters, self.labels))",
        "            notes = notes or [FewerClusters(found, self.n_clusters, self.labels)]",
        "test_every_method_tells_of_clusters_that_are_missing",
    ),
    Fault(
        "workers: of those that are paused it is said that they are gone",
        'if "paused" in states and time.monotonic() - alive > PATIENCE:',
        "if False:",
        "test_workers_that_are_paused_for_lack_of_memory",
    ),
    Fault(
        "workers: they are waited for for ever",
        "PATIENCE = 45.0",
        "PATIENCE = 1e9",
        "test_the_patience_is_told_within_a_minute",
    ),
    Fault(
        "workers: those of another version are used",
        "if version != __version__:",
        "if False:",
        "test_workers_of_another_version_are_refused",
    ),
    Fault(
        "memory: a fit that ran out of it is kept with its error",
        "        raise told from error",
        '        globals().setdefault("errors", []).append(told)\n        raise told from error',
        "test_a_small_fit_after_one_that_ran_out_of_memory",
    ),
    Fault(
        "results: names that cannot be traded end the run",
        "    with suppress(OSError):\n        shutil.copymode",
        "    with suppress(KeyError):\n        shutil.copymode",
        "test_where_folders_cannot_trade_names",
    ),
    Fault(
        "results: made beside the folder, though that is on a disk of its own",
        'place = real if _beside(real) else real / "results"',
        "place = real",
        "test_a_folder_on_a_disk_of_its_own or test_a_small_disk_in_the_place_of_results",
    ),
    Fault(
        "results: made in the current folder, and moved from there",
        "made_aside(place, Path.mkdir)",
        "made_aside(Path(place.name), Path.mkdir)",
        "test_results_on_another_file_system",
    ),
    Fault(
        "results: what was moved before an error stays where it is",
        "        _put_back(done, folder, before)\n",
        "",
        "test_a_name_that_cannot_change_leaves_earlier_results",
    ),
    Fault(
        "results: who waits looks at the time of day",
        "    begun = time.monotonic()\n    while True:\n        try:\n"
        "            return lock_now(lock)\n        except BlockingIOError as error:\n"
        "            if time.monotonic() - begun",
        "    begun = time.time()\n    while True:\n        try:\n"
        "            return lock_now(lock)\n        except BlockingIOError as error:\n"
        "            if time.time() - begun",
        "test_who_waits_does_not_wait_for_the_time_of_day",
    ),
    Fault(
        "written aside: leftovers of the future stay",
        "                lock_now(lock)\n                _remove(aside)",
        "                lock_now(lock)\n"
        '                if aside.stat().st_mtime < __import__("time").time():\n'
        "                    _remove(aside)",
        "test_a_clock_that_was_set_back",
    ),
    Fault(
        "written aside: the new name is not on the disk",
        "        aside.replace(path)\n        sync_folder(path.parent)",
        "        aside.replace(path)",
        "test_a_file_is_on_the_disk_before_it_has_its_name",
    ),
    Fault(
        "results: a folder that may not be written is a foreign error",
        "            aside = stack.enter_context(made_aside(place",
        "            pass\n        if True:\n"
        "            aside = stack.enter_context(made_aside(place",
        "test_a_folder_that_may_not_be_written",
    ),
    Fault(
        "results: what stands in the place of a file is not looked at",
        "if (folder / name).exists() and not (folder / name).is_file():",
        "if False:",
        "test_a_summary_that_is_none",
    ),
    Fault(
        "apart: whatever the process ended with is an answer",
        "        if ended == 0:\n            return",
        "        if ended != 1:\n            return",
        "test_what_does_not_come_to_an_end_is_refused",
    ),
    Fault(
        "apart: a process may be busy for ever",
        "resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))",
        "resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))",
        "test_what_does_not_come_to_an_end_is_refused",
    ),
    Fault(
        "apart: a process may wait for ever",
        "                timeout=_PATIENCE * seconds,\n",
        "",
        "test_what_does_not_come_to_an_end_is_refused",
    ),
    Fault(
        "apart: a process may take all memory",
        "resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))",
        "pass",
        "test_memory_is_limited",
    ),
    Fault(
        "results: two runs put theirs in place at once",
        "            _wait_for(lock)\n",
        "",
        "test_a_lock_that_another_process_keeps_is_told",
    ),
    Fault(
        "experiments: rows are written while another process packs them",
        "fcntl.flock(file, fcntl.LOCK_EX)",
        "pass",
        "test_who_writes_waits_for_who_packs",
    ),
    Fault(
        "eigenvectors: a basis that loses its rank ends the fit",
        "            except linalg.LinAlgError:",
        "            except KeyError:",
        "test_columns_that_depend_on_each_other_have_an_orthogonal_basis",
    ),
    # --------------------------------------------------------- what commands tell, and keep
    Fault(
        "progress: the time left is told at the speed of another machine",
        "return (taken + _PRIOR) / (expected + _PRIOR)",
        "return 1.0",
        "test_the_time_left_is_that_of_all_parts_at_the_speed_of_this_machine",
    ),
    Fault(
        "progress: the time left jumps to each new estimate",
        "self.told = now, shown + (left - shown) * -math.expm1(-(now - then) / slowness)",
        "self.told = now, left",
        "test_the_time_left_never_jumps",
    ),
    Fault(
        "compare-runs: partners are those of equal numbers",
        "linear_sum_assignment(table, maximize=True)",
        "(range(min(table.shape)), range(min(table.shape)))",
        "test_new_names_for_all_clusters_move_nobody",
    ),
    Fault(
        "compare-runs: names in bands are not escaped",
        "told = escape(f",
        "told = str(f",
        "test_names_cannot_do_harm_in_the_picture",
    ),
    Fault(
        "results: those of an earlier run are replaced unasked",
        "if force or unfinished or not any(folder.iterdir()):",
        "if force or before is not None or not any(folder.iterdir()):",
        "test_earlier_results_are_kept",
    ),
    Fault(
        "preparation: the steps of a model file are not looked at",
        "width = step.check(width)",
        "width = p",
        "test_steps_from_a_stranger_are_checked",
    ),
    Fault(
        "preparation: pixels and ratings are taken for counts",
        "if at_the_end.mean() > _AT_THE_END or ",
        "if ",
        "test_what_are_no_counts",
    ),
    Fault(
        "preparation: new counts are brought to another depth",
        "found = log_counts(counts, self.depth)",
        "found = log_counts(counts, median_depth(table, self.which))",
        "test_new_counts_are_brought_to_the_depth_of_the_old",
    ),
    Fault(
        "preparation: rows are numbered anew after some were left out",
        "ids=[self.ids[i] for i in kept],",
        "ids=Counted(len(kept)),",
        "test_rows_that_are_left_out_keep_their_numbers_and_are_told",
    ),
    Fault(
        "sketch: every batch gets the keys of the first",
        "np.random.PCG64(seed).advance(start)",
        "np.random.PCG64(seed).advance(0)",
        "test_the_sketch_is_that_of_one_sample_after_the_other",
    ),
    Fault(
        "sketch: of a part that goes on, more is kept than there was",
        "size = min(size, X.shape[0])",
        "size = size",
        "test_every_sample_has_the_same_chance",
    ),
    Fault(
        "part: samples of the fit have the strengths of new ones",
        "labels[self.rows], strengths[self.rows] = fitted.labels_, fitted.strengths_",
        "labels[self.rows] = fitted.labels_",
        "test_samples_of_the_fit_keep_what_the_fit_says_of_them",
    ),
    Fault(
        "stream: samples that fit no cluster renew nothing",
        "sketch.seen >= _GROWTH * self.renewed or kept >= _ENOUGH",
        "sketch.seen >= _GROWTH * self.renewed",
        "test_a_cluster_that_was_not_there_renews_the_others",
    ),
    Fault(
        "stream: clusters get the numbers of those that they share least with",
        "linear_sum_assignment(shared, maximize=True)",
        "linear_sum_assignment(shared)",
        "test_numbers_are_kept or test_batches_come_to_the_clusters_of_one_fit",
    ),
    Fault(
        "stream: a fit leaves the stream before it",
        'if not name.endswith("_") and name not in _OF_A_FIT',
        'if not name.endswith("_")',
        "test_a_stream_goes_on_from_a_fit",
    ),
    Fault(
        "sources: a file may change while it is read",
        "same = changed(self.path) == self.state",
        "same = True",
        "test_a_file_that_changes_while_it_is_read",
    ),
    Fault(
        "sources: the row of a gap is counted in its block",
        "row {some.start + int(row)}",
        "row {int(row)}",
        "test_a_gap_in_a_late_block_is_named_before_the_fit",
    ),
    Fault(
        "among: new samples of later parts are taken for those of the first",
        "return i + some.start, j, d2",
        "return i, j, d2",
        "test_an_exact_search_finds_the_nearest_and_those_that_reach",
    ),
    Fault(
        "the filter for eigenvectors begins at -1",
        "return max(float(ritz[0]) - beside[-1], -1.0)",
        "return -1.0",
        "test_a_filter_that_knows_where_eigenvalues_begin_takes_fewer_products",
    ),
    Fault(
        "preparation: a gender beside answers is clustered by",
        "if 2 * shared <= len(scales) or shared <= two.sum():",
        "if True:",
        "test_two_numbers_beside_answers_on_one_scale_are_a_category",
    ),
    Fault(
        "preparation: totals are counts",
        "if follows < _FOLLOWS or (total and follows > _FOLLOWS_CLOSELY):",
        "if follows < _FOLLOWS:",
        "test_columns_beside_counts_that_are_none",
    ),
    Fault(
        "preparation: batches are counts",
        "alike = variance >= (1 - _ERRORS * errors) * mean",
        "alike = mean >= 0",
        "test_columns_beside_counts_that_are_none",
    ),
    Fault(
        "preparation: categories hardly count beside large numbers",
        "work.do(fit_encode(work.table, column, size))",
        "work.do(fit_encode(work.table, column, 1.0))",
        "test_categories_count_as_much_as_a_column_whatever_the_unit",
    ),
    Fault(
        "predict: samples unlike all others are placed with confidence",
        "if found is not None:\n            strengths[found.unlike] = 0",
        "if found is None:\n            strengths[found.unlike] = 0",
        "test_new_samples_unlike_all_others_are_told",
    ),
    Fault(
        "predict: samples of the fit are unlike the others",
        "new[:, -1] > own[:, -1].max()",
        "new[:, -1] > 0.5 * own[:, -1].max()",
        "test_unlike_is_farther_than_any_sample_is",
    ),
    Fault(
        ".csv: commas between thousands in some numbers only",
        "if self.grouped and (self.large or self.words):",
        "if self.grouped and self.words:",
        "test_wrong_tables",
    ),
    Fault(
        "report: scaled numbers in place of the units of the user",
        "return np.asarray(values * spread[columns] + mean[columns])",
        "return np.asarray(values)",
        "test_the_report_has_the_units_of_the_user",
    ),
    Fault(
        "doubts: the sum of two shares is told as one",
        "found = (crossed + p / (own + p)) / 2",
        "found = crossed + p / (own + p)",
        "test_half_of_the_walks_cross_where_there_is_no_border",
    ),
    Fault(
        "doubts: every cluster that walks leave is doubted",
        "infirm[asked] = ~firm(walk, labels, asked, others)",
        "infirm[asked] = True",
        "test_right_clusters_are_hardly_doubted_where_noise_links_them_all",
    ),
    Fault(
        "doubts: a border that only its own clusters cross is not doubted",
        "weak & (local | np.outer(infirm, infirm))",
        "weak & np.outer(infirm, infirm)",
        "test_a_cluster_cut_in_two_is_told",
    ),
    Fault(
        "doubts: the background is that of the loudest pairs of clusters",
        'np.quantile(crossed, _QUIET, method="lower")',
        "crossed.max()",
        "test_the_background_is_what_the_quietest_pairs_exchange",
    ),
    Fault(
        "doubts: samples half a way to another cluster are not between",
        "far = (medians[c, others] - own_share(c)[:, others]) / way[others]",
        "far = (medians[c, others] - own_share(c)[:, others]) / 2 / way[others]",
        "test_samples_between_clusters_are_those_that_matrices_of_all_pairs_tell",
    ),
    Fault(
        "predict: far samples are told though chance explains them",
        "return count if by_chance < _BY_CHANCE else 0",
        "return count",
        "test_far_samples_are_counted_where_chance_does_not_explain_them",
    ),
    Fault(
        "append: samples of a new kind are not told",
        "notes += _far(found, strengths > 0)",
        "pass",
        "test_samples_of_a_new_kind_are_told",
    ),
    Fault(
        "tables: a text that comes twice is taken as a name",
        "not may_name(cell) or cell in known",
        "not may_name(cell)",
        "test_a_column_of_different_texts_names_the_samples",
    ),
    Fault(
        "strengths: samples of high strength are counted as weak",
        "labels[(strength < WEAK) & (labels >= 0)]",
        "labels[labels >= 0]",
        "test_a_minority_of_low_strength_is_counted",
    ),
    Fault(
        "doubts: a cluster that may be two is told again beside its pair",
        "own = [part for part in two if part[0] in (a, b)]",
        "own = []",
        "test_each_doubt_is_told_once_with_numbers_to_try",
    ),
    Fault(
        "doubts: every weak pair takes a cluster from the number to try",
        "return self.n_clusters - int(connected_components(graph, directed=False)[0])",
        "return len(self.doubts.one)",
        "test_each_doubt_is_told_once_with_numbers_to_try",
    ),
    Fault(
        "doubts: the parts of a cluster are not those of its clearest border",
        "found[c], parts[c] = crossed, sizes[c]",
        "found[c] = crossed",
        "test_a_border_inside_is_the_border_between_the_clusters_joined",
    ),
    Fault(
        "notes: tiny clusters are not told",
        'kept = {**result.attributes, "notes_": (*result.notes, *tiny)}',
        'kept = {**result.attributes, "notes_": result.notes}',
        "test_tiny_clusters_of_a_fit_are_noted_without_a_warning",
    ),
]


class StaleError(Exception):
    """A fault that no longer goes with the source or the tests; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run of tests: the first that failed, if any did, and how long it took."""

    failed: str | None
    seconds: float


def harm(source: Path, fault: Fault) -> None:
    """Put the fault into a copy of the source."""
    files = [path for path in sorted(source.rglob("*")) if path.suffix in KINDS]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    found = [path for path, text in texts.items() for _ in range(text.count(fault.right))]
    if len(found) != 1:
        places = ", ".join(str(path.relative_to(source)) for path in found) or "nowhere"
        raise StaleError(f"its piece of the source is there {len(found)} times: {places}")
    harmed = texts[found[0]].replace(fault.right, fault.wrong)
    if found[0].suffix == ".py":
        try:
            compile(harmed, found[0], "exec")
        except SyntaxError as error:
            raise StaleError(f"what it makes is no Python: {error}") from error
    found[0].write_text(harmed, encoding="utf-8")


def files_of(selection: str, root: Path) -> list[str]:
    """The files with the tests that a selection names, wherever they are."""
    texts = {path: path.read_text(encoding="utf-8") for path in (root / "tests").rglob("test_*.py")}
    chosen = set()
    for name in set(re.findall(r"test_\w+", selection)):
        here = {
            path
            for path, text in texts.items()
            if path.stem == name or re.search(rf"def {name}\w*\(", text)
        }
        if not here:
            raise StaleError(f"there is no test {name}")
        chosen |= here
    return sorted(str(path.relative_to(root)) for path in chosen) or ["tests"]


def run(selection: str, source: Path, root: Path) -> Outcome:
    """Run the selected tests with this source, up to the first that fails."""
    arguments = [*files_of(selection, root), "-k", selection]
    arguments += [
        "-x",
        "-q",
        "--tb=no",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "plugin_of_faults",
    ]
    (source / "plugin_of_faults.py").write_text(PLUGIN)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    child = context.Process(target=_test, args=(arguments, source, root))
    begun = time.monotonic()
    child.start()
    child.join(LIMIT)
    if child.exitcode is None:
        child.kill()
        raise StaleError(f"its tests take more than {LIMIT} seconds")
    seconds, said = time.monotonic() - begun, (source / SAID).read_text(errors="replace")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", said, re.MULTILINE)
    if child.exitcode == 0:
        return Outcome(None, seconds)
    if child.exitcode == 1 and failed:
        return Outcome(failed[1], seconds)
    last = said.strip().splitlines() or ["nothing"]
    raise StaleError(f"its tests did not run, pytest ended with {child.exitcode}: {last[-1]}")


def _test(arguments: Sequence[str], source: Path, root: Path) -> None:
    """In the child: run tests with this source, and keep what they say."""
    said = os.open(source / SAID, os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(root)
    os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0] = [str(source), str(root)]
    assert "klsnmf" not in sys.modules
    import pytest

    sys.exit(pytest.main(list(arguments)))


def with_copy(root: Path, fault: Fault | None, selection: str) -> Outcome:
    """Run the selected tests with a copy of the source, harmed by a fault or as it is."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(root / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        if fault is not None:
            harm(source / "klsnmf", fault)
        return run(selection, source, root)


def trouble(root: Path, selection: str) -> str:
    """Why tests cannot tell anything of a fault: they fail without one. Empty if they pass."""
    try:
        outcome = with_copy(root, None, selection)
    except StaleError as error:
        return str(error)
    return f"{outcome.failed} fails without a fault" if outcome.failed else ""


def judge(root: Path, fault: Fault) -> tuple[bool, str]:
    """Whether a fault is caught, and the line that says so."""
    try:
        outcome = with_copy(root, fault, fault.tests)
    except StaleError as error:
        return False, f"STALE, {error}"
    verdict = f"caught by {outcome.failed}" if outcome.failed else "NOT CAUGHT"
    return bool(outcome.failed), f"{verdict} ({outcome.seconds:.0f} s)"


def chosen(names: Sequence[str]) -> list[Fault]:
    """The faults whose names have one of these words in them; all without words."""
    faults = [
        fault
        for fault in FAULTS
        if not names or any(name.lower() in fault.name.lower() for name in names)
    ]
    if not faults:
        sys.exit(f"No fault has a name with {' or '.join(map(repr, names))} in it.")
    return faults


def check(root: Path, faults: Iterable[Fault], pool: ThreadPoolExecutor) -> bool:
    """Whether all selections pass on the source as it is; those that do not are printed."""
    selections = sorted({fault.tests for fault in faults})
    good = True
    for selection, why in zip(
        selections, pool.map(lambda selection: trouble(root, selection), selections), strict=True
    ):
        if why:
            good = False
            print(f"{selection}: STALE, {why}", flush=True)
    return good


def stored(rows: Path | None) -> set[str]:
    """The faults that were caught in an earlier run."""
    if rows is None or not rows.exists():
        return set()
    with rows.open(newline="", encoding="utf-8") as file:
        return {name for name, caught, _ in csv.reader(file) if caught == "1"}


def main() -> int:
    """Try the faults, and print what becomes of each."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description="Faults that the tests must catch."
    )
    parser.add_argument("names", nargs="*", help="only faults with these words in their names")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once")
    parser.add_argument("--check", action="store_true", help="first run the tests without a fault")
    parser.add_argument("--rows", type=Path, help="a table of verdicts, which goes on")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        help="the folder with src and tests",
    )
    given = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    root, faults = given.root.resolve(), chosen(given.names)
    known = stored(given.rows)
    faults = [fault for fault in faults if fault.name not in known]
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        sound = not given.check or check(root, faults, pool)
        caught = 0
        verdicts = pool.map(lambda fault: judge(root, fault), faults)
        for fault, (good, line) in zip(faults, verdicts, strict=True):
            caught += good
            print(f"{fault.name}: {line}", flush=True)
            if given.rows:
                with given.rows.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerow([fault.name, int(good), line])
    print(f"{caught} of {len(faults)} faults were caught.")
    return 0 if sound and caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
