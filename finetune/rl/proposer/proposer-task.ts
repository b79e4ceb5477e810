/** The task of a proposer: the model answers the prompts of runs in flight with groups of candidates. */

import { deriveSeeds } from '../../../src/base/random/generator.js';
import type { Config } from '../../../src/config/config.js';
import { bestEntry } from '../../../src/rollout/replay-buffer.js';
import { type Sample, sampleCount, sampleOf } from '../../../src/runs/training/samples.js';
import { largest, mean } from '../../../src/statistics/descriptive.js';
import type { Sampler } from '../../engine/sampler.js';
import type { Group, RlTask } from '../learning/episode.js';
import { isAbsolute } from './candidate-reward.js';
import type { ProposerConfig } from './proposer-config.js';
import { heldOutRuns, promptsHash, runPlans } from './proposer-config.js';
import { episodeOfCandidate, type OpenedTerm, openReward, rewardsOf } from './reward.js';
import {
  openRun,
  type PlayedBaseline,
  playBaselines,
  type RunInFlight,
  type RunState,
} from './run-in-flight.js';
import { configOf, type TaskPlan } from './tasks.js';

interface Slot {
  readonly number: number;
  /** The iteration after which the next run replaces this one. */
  readonly until: number;
  readonly run: RunInFlight;
}

/** State that the next groups depend on, saved as JSON. */
interface Saved {
  readonly next: number;
  readonly slots: readonly (RunState & { readonly number: number; readonly until: number })[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** @throws UserError if a task or the reward is unusable */
export async function openProposerTask(config: ProposerConfig, env: Env): Promise<RlTask> {
  const terms = await openReward(config.reward);
  const constrained = config.answers.format === 'constrained';
  const training = new RunsInFlight(runPlans(config).training, config.groups, env);
  const configs = heldOutRuns(config);
  const heldOut = { configs, terms, constrained, env };
  let baselines: Promise<readonly PlayedBaseline[]> | undefined;
  const baselinesOf = () => {
    baselines ??= playBaselines(config.baselines, configs, env);
    return baselines;
  };
  const ownPrompts = promptsHash(config);
  return {
    ...(ownPrompts !== undefined && { prompts: ownPrompts }),
    async play(sampler, starts, size, seed) {
      const groups: Group[] = [];
      const slots = await training.next(starts.length);
      const prompts = slots.map(({ run }) => run.prompt());
      const seeds = deriveSeeds(seed, [], slots.length * size);
      const replies = await sampler.answer(
        seeds.map((sampling, i) => {
          const group = Math.floor(i / size);
          const grammar = constrained ? slots[group]!.run.grammar : undefined;
          return { messages: prompts[group]!, seed: sampling, grammar };
        }),
      );
      for (const [i, { run }] of slots.entries()) {
        const own = replies.slice(i * size, (i + 1) * size);
        const group = await run.judge(own, constrained);
        const rewards = rewardsOf(group, terms);
        groups.push(own.map((reply, k) => episodeOfCandidate(reply, group.candidates[k]!, rewards[k]!)));
        await run.advance(group);
      }
      return groups;
    },
    async measure(sampler, _, seed) {
      const outcomes = await playHeldOut(sampler, heldOut, seed);
      const rivals = isAbsolute(config.reward) ? [] : await baselinesOf();
      const proposed = outcomes.flatMap(({ scores }) => scores);
      const bests = outcomes.flatMap(({ best }) => best ?? []);
      return {
        values: outcomes.map(({ best, reward }, i) =>
          rivals.length === 0 ? reward : mean(rivals.map(({ returns }) => wonBy(best, returns[i]!))),
        ),
        ...(proposed.length > 0 && { policyReturn: mean(proposed) }),
        ...(bests.length > 0 && { bestReturn: mean(bests) }),
        samples: outcomes.slice(0, sampleCount).map(({ sample }) => sample),
      };
    },
    baselines: async () =>
      (await baselinesOf()).map(({ label, returns, episodes }) => ({
        label,
        episodes,
        bestReturn: mean(returns),
      })),
    progress: { save: () => training.save(), restore: (saved) => training.restore(saved) },
    close: () => training.close(),
  };
}

/** 1 for a higher return, 0.5 for an equal one, 0 otherwise. */
function wonBy(own: number | undefined, other: number): number {
  if (own === undefined || own < other) return 0;
  return own === other ? 0.5 : 1;
}

/** Runs in flight. They continue from update to update; when a run finishes, the plan's next run replaces it. */
class RunsInFlight {
  readonly #plan: TaskPlan;
  readonly #env: Env;
  readonly #count: number;
  #slots: Slot[] = [];
  #next = 0;

  constructor(plan: TaskPlan, count: number, env: Env) {
    this.#plan = plan;
    this.#count = count;
    this.#env = env;
  }

  /** Returns the first `count` runs, each with at least one iteration left. */
  async next(count: number): Promise<readonly Slot[]> {
    for (let place = 0; place < Math.min(count, this.#count); place++) {
      const slot = this.#slots[place];
      if (slot !== undefined && slot.run.state.iteration < slot.until) continue;
      await slot?.run.close();
      this.#slots[place] = await this.#begin(place, slot === undefined);
    }
    return this.#slots.slice(0, count);
  }

  /** Starts the next run. Shortens the first runs by different amounts, so that runs in flight differ in iteration. */
  async #begin(place: number, first: boolean): Promise<Slot> {
    const number = this.#next++;
    const config = configOf(this.#plan, number);
    const share = first ? (place + 1) / this.#count : 1;
    return { number, until: Math.ceil(config.iterations * share), run: await openRun(config, this.#env) };
  }

  save(): string {
    const saved: Saved = {
      next: this.#next,
      slots: this.#slots.map(({ number, until, run }) => ({ number, until, ...run.state })),
    };
    return JSON.stringify(saved);
  }

  async restore(text: string): Promise<void> {
    const { next, slots } = JSON.parse(text) as Saved;
    await this.close();
    this.#next = next;
    for (const { number, until, ...state } of slots) {
      const run = await openRun(configOf(this.#plan, number), this.#env, state);
      this.#slots.push({ number, until, run });
    }
  }

  async close(): Promise<void> {
    const slots = this.#slots;
    this.#slots = [];
    for (const { run } of slots) await run.close();
  }
}

interface Outcome {
  /** Best return of the run, including warm-up; undefined if nothing was evaluated. */
  readonly best: number | undefined;
  readonly scores: readonly number[];
  readonly reward: number;
  /** The last prompt with its reply. */
  readonly sample: Sample;
}

/** Plays all held-out runs together, with one candidate per iteration. */
async function playHeldOut(
  sampler: Sampler,
  {
    constrained,
    env,
    configs,
    terms,
  }: {
    readonly constrained: boolean;
    readonly env: Env;
    readonly configs: readonly Config[];
    readonly terms: readonly OpenedTerm[];
  },
  seed: number,
): Promise<readonly Outcome[]> {
  const runs: RunInFlight[] = [];
  const played = configs.map(() => ({
    scores: [] as number[],
    rewards: [] as number[],
    sample: { turns: [] } as Sample,
  }));
  try {
    for (const config of configs) runs.push(await openRun(config, env));
    const longest = largest(configs.map(({ iterations }) => iterations));
    for (let iteration = 0; iteration < longest; iteration++) {
      const active = [...runs.keys()].filter((i) => iteration < configs[i]!.iterations);
      const seeds = deriveSeeds(seed, [iteration], configs.length);
      const prompts = active.map((i) => runs[i]!.prompt());
      const replies = await sampler.answer(
        active.map((i, k) => ({
          messages: prompts[k]!,
          seed: seeds[i]!,
          grammar: constrained ? runs[i]!.grammar : undefined,
        })),
      );
      for (const [k, i] of active.entries()) {
        const group = await runs[i]!.judge([replies[k]!], constrained);
        const [candidate] = group.candidates;
        played[i]!.rewards.push(rewardsOf(group, terms)[0]!);
        if (candidate?.kind === 'evaluated') played[i]!.scores.push(candidate.score);
        const prompt = prompts[k]!.map(({ content }) => content).join('\n\n');
        const score = candidate?.kind === 'evaluated' ? candidate.score : null;
        played[i]!.sample = sampleOf([{ prompt, reply: replies[k]!.text }], { score });
        await runs[i]!.advance(group);
      }
    }
    return runs.map((run, i) => ({
      best: bestEntry(run.state.entries)?.score,
      scores: played[i]!.scores,
      sample: played[i]!.sample,
      reward: mean(played[i]!.rewards),
    }));
  } finally {
    for (const run of runs) await run.close();
  }
}
