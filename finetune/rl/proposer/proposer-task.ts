/** The task of a proposer: the model answers the prompts of runs in flight with groups of candidates. */

import { deriveSeeds } from '../../../src/base/random/generator.js';
import type { Config } from '../../../src/config/config.js';
import { bestEntry } from '../../../src/rollout/replay-buffer.js';
import { createSample, type Sample, sampleCount } from '../../../src/runs/training/samples.js';
import { largest, mean } from '../../../src/statistics/descriptive.js';
import type { SampledReply, Sampler } from '../../engine/sampler.js';
import { type Episode, episodeOf, type RlTask } from '../learning/episode.js';
import { type ProposerConfig, taskPlans } from './proposer-config.js';
import { type Candidate, isAbsolute, openReward } from './reward.js';
import { openRun, playBaseline, type RunInFlight, type RunState } from './run-in-flight.js';
import { configOf, type TaskPlan } from './tasks.js';

interface RunSlot {
  readonly number: number;
  /** The iteration after which the next run replaces this one. */
  readonly until: number;
  readonly run: RunInFlight;
}

/** State that the next groups depend on, saved as JSON. */
interface SavedRuns {
  readonly next: number;
  readonly slots: readonly (RunState & { readonly number: number; readonly until: number })[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** An iteration of a run: the model's candidates, evaluated and rewarded. */
interface AnsweredPrompt {
  readonly prompt: string;
  readonly replies: readonly SampledReply[];
  readonly candidates: readonly Candidate[];
  readonly rewards: readonly number[];
}

/** Plays one iteration of some runs, with one candidate per seed. */
type Iterate = (
  sampler: Sampler,
  runs: readonly RunInFlight[],
  seeds: readonly (readonly number[])[],
) => Promise<readonly AnsweredPrompt[]>;

/** @throws UserError if the reward is unusable; the methods that open runs throw one if a task is unusable */
export async function openProposerTask(config: ProposerConfig, env: Env): Promise<RlTask> {
  const rewardsOf = await openReward(config.reward);
  const isConstrained = config.answers.format === 'constrained';
  const plans = taskPlans(config);
  const trainingRuns = new RunsInFlight(plans.tasks, config.groups, env);
  const configsFrom = (starts: readonly number[]) => starts.map((start) => configOf(plans.heldOut, start));
  const playBaselines = (starts: readonly number[]) =>
    Promise.all(config.baselines.map((name) => playBaseline(name, configsFrom(starts), env)));
  const baselinesByStarts = new Map<string, ReturnType<typeof playBaselines>>();
  const getBaselines = (starts: readonly number[]) => {
    const results = baselinesByStarts.get(starts.join()) ?? playBaselines(starts);
    baselinesByStarts.set(starts.join(), results);
    return results;
  };
  const iterate: Iterate = async (sampler, runs, seeds) => {
    const prompts = runs.map((run) => run.prompt());
    const replies = await sampler.answer(
      runs.flatMap(({ grammar }, i) => {
        const request = { messages: prompts[i]!, grammar: isConstrained ? grammar : undefined };
        return seeds[i]!.map((seed) => ({ ...request, seed }));
      }),
    );
    const answeredPrompts: AnsweredPrompt[] = [];
    let start = 0;
    for (const [i, run] of runs.entries()) {
      const runReplies = replies.slice(start, start + seeds[i]!.length);
      start += runReplies.length;
      const group = await run.evaluateReplies(runReplies, isConstrained);
      answeredPrompts.push({
        prompt: prompts[i]!.map(({ content }) => content).join('\n\n'),
        replies: runReplies,
        candidates: group.candidates,
        rewards: rewardsOf(group),
      });
      await run.advance(group);
    }
    return answeredPrompts;
  };
  return {
    async play(sampler, _, size, seed) {
      const runs = await trainingRuns.next();
      const seeds = deriveSeeds(seed, [], runs.length * size);
      const runSeeds = runs.map((_, i) => seeds.slice(i * size, (i + 1) * size));
      const answeredPrompts = await iterate(sampler, runs, runSeeds);
      return answeredPrompts.map(({ candidates, replies, rewards }) =>
        replies.map((reply, k) => episodeOfCandidate(reply, candidates[k]!, rewards[k]!)),
      );
    },
    async measure(sampler, starts, seed) {
      const outcomes = await playRuns(sampler, configsFrom(starts), env, iterate, seed);
      const baselines = isAbsolute(config.reward) ? [] : await getBaselines(starts);
      const scores = outcomes.flatMap(({ answeredPrompts }) => answeredPrompts.flatMap(scoresOf));
      const bestReturns = outcomes.flatMap(({ best }) => best ?? []);
      return {
        values: outcomes.map(({ answeredPrompts, best }, i) =>
          mean(
            baselines.length === 0
              ? answeredPrompts.flatMap(({ rewards }) => rewards)
              : baselines.map((one) => winScore(best, one.bestReturns[i]!)),
          ),
        ),
        ...(scores.length > 0 && { policyReturn: mean(scores) }),
        ...(bestReturns.length > 0 && { bestReturn: mean(bestReturns) }),
        samples: outcomes.slice(0, sampleCount).map(toSample),
      };
    },
    ...(config.baselines.length > 0 && {
      async baselines(starts) {
        const played = await getBaselines(starts);
        return played.map(({ bestReturns, ...one }) => ({ ...one, bestReturn: mean(bestReturns) }));
      },
    }),
    progress: { save: () => trainingRuns.save(), restore: (saved) => trainingRuns.restore(saved) },
    close: () => trainingRuns.close(),
  };
}

function episodeOfCandidate(reply: SampledReply, candidate: Candidate, reward: number): Episode {
  const valid = candidate.kind === 'evaluated';
  return {
    ...episodeOf({ turns: [{ reply, reward, valid }], truncated: false }),
    ...(valid && { policyReturn: candidate.score }),
  };
}

/** 1 for a higher return, 0.5 for an equal one, 0 for a lower one or none. */
function winScore(own: number | undefined, other: number): number {
  if (own === undefined || own < other) return 0;
  return own === other ? 0.5 : 1;
}

/** Runs in flight. They continue from update to update; when a run finishes, the plan's next run replaces it. */
class RunsInFlight {
  readonly #plan: TaskPlan;
  readonly #env: Env;
  readonly #count: number;
  #slots: RunSlot[] = [];
  #nextNumber = 0;

  constructor(plan: TaskPlan, count: number, env: Env) {
    this.#plan = plan;
    this.#count = count;
    this.#env = env;
  }

  /** Returns the runs, each with at least one iteration left. */
  async next(): Promise<readonly RunInFlight[]> {
    for (let slotIndex = 0; slotIndex < this.#count; slotIndex++) {
      const slot = this.#slots[slotIndex];
      if (slot !== undefined && slot.run.state.iteration < slot.until) continue;
      await slot?.run.close();
      this.#slots[slotIndex] = await this.#begin(slotIndex, slot === undefined);
    }
    return this.#slots.map(({ run }) => run);
  }

  /** Starts the next run. Spreads the ends of the first runs, so that runs in flight are at different iterations. */
  async #begin(slotIndex: number, isFirst: boolean): Promise<RunSlot> {
    const number = this.#nextNumber++;
    const config = configOf(this.#plan, number);
    const share = isFirst ? (slotIndex + 1) / this.#count : 1;
    return { number, until: Math.ceil(config.iterations * share), run: await openRun(config, this.#env) };
  }

  save(): string {
    const saved: SavedRuns = {
      next: this.#nextNumber,
      slots: this.#slots.map(({ number, until, run }) => ({ number, until, ...run.state })),
    };
    return JSON.stringify(saved);
  }

  async restore(text: string): Promise<void> {
    const { next, slots } = JSON.parse(text) as SavedRuns;
    await this.close();
    this.#nextNumber = next;
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

interface RunOutcome {
  /** Best return of the run, including warm-up; undefined if nothing was evaluated. */
  readonly best: number | undefined;
  /** The run's prompts, each with one reply. */
  readonly answeredPrompts: readonly AnsweredPrompt[];
}

/** Plays runs together, with one candidate per iteration. */
async function playRuns(
  sampler: Sampler,
  configs: readonly Config[],
  env: Env,
  iterate: Iterate,
  seed: number,
): Promise<readonly RunOutcome[]> {
  const runs: RunInFlight[] = [];
  const answeredByRun = configs.map((): AnsweredPrompt[] => []);
  try {
    for (const config of configs) runs.push(await openRun(config, env));
    const longest = largest(configs.map(({ iterations }) => iterations));
    for (let iteration = 0; iteration < longest; iteration++) {
      const indices = [...runs.keys()].filter((i) => iteration < configs[i]!.iterations);
      const seeds = deriveSeeds(seed, [iteration], configs.length);
      const ownSeeds = indices.map((i) => [seeds[i]!]);
      const activeRuns = indices.map((i) => runs[i]!);
      const answeredPrompts = await iterate(sampler, activeRuns, ownSeeds);
      for (const [k, i] of indices.entries()) answeredByRun[i]!.push(answeredPrompts[k]!);
    }
    const bestScores = runs.map(({ state }) => bestEntry(state.entries)?.score);
    return answeredByRun.map((answeredPrompts, i) => ({ best: bestScores[i], answeredPrompts }));
  } finally {
    for (const run of runs) await run.close();
  }
}

const scoresOf = ({ candidates }: AnsweredPrompt): readonly number[] =>
  candidates.flatMap((one) => (one.kind === 'evaluated' ? one.score : []));

function toSample({ answeredPrompts }: RunOutcome): Sample {
  const last = answeredPrompts.at(-1)!;
  const score = scoresOf(last)[0] ?? null;
  return createSample([{ prompt: last.prompt, reply: last.replies[0]!.text }], { score });
}
