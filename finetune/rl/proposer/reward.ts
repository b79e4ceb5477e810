/** Rewards of candidates: their config, and their computation for a group of candidates from the same prompt. */
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { isModulePath, loadModule } from '../../../src/base/modules/user-module.js';
import { isMapping } from '../../../src/base/settings/schema.js';
import type { ParseFailureKind } from '../../../src/prompting/answer/failure.js';
import type { ScoredParameters } from '../../../src/rollout/replay-buffer.js';
import { largest, smallest, standardDeviation } from '../../../src/statistics/descriptive.js';

/** Keys of every kind of reward. */
const sharedFields = (invalid: number, replyText = 'an invalid reply') => ({
  invalid: z
    .number()
    .default(invalid)
    .describe(`Reward for ${replyText}, but at most the lowest reward of the other replies in its group`),
  shuffle: z
    .boolean()
    .default(false)
    .describe('True to permute the rewards of each group, as a check: the model should then learn nothing'),
});
/** The replies that get `invalid`, for rewards that compare with other policies. */
const repeatText = 'a reply that is invalid or repeats an earlier policy of the run';

export const rewardSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z
      .literal('improvement')
      .describe(
        "Improvement of the mean return over the run's best earlier policy, divided by the standard deviation of the run's earlier returns or, if that is 0, of the group's",
      ),
    ...sharedFields(-1, repeatText),
  }),
  z.strictObject({
    kind: z.literal('return').describe('The mean return, scaled from `low` (0) to `high` (1) and clipped'),
    low: z.number().describe('Mean return that earns 0'),
    high: z.number().describe('Mean return that earns 1'),
    ...sharedFields(0),
  }),
  z.strictObject({
    kind: z
      .literal('rank')
      .describe(
        'Rank in the group, from 1/n (lowest of n returns) to 1 (highest); ties share their mean rank',
      ),
    ...sharedFields(0, repeatText),
  }),
  z.strictObject({
    kind: z
      .literal('module')
      .describe('Your own function that computes the rewards of a group of candidates'),
    path: z.string().min(1).describe('Path of the JavaScript or TypeScript file').meta({ format: 'path' }),
    ...sharedFields(0),
  }),
]);

export type CandidateReward = z.output<typeof rewardSchema>;

/** False if the reward always depends on other policies; evaluations then score runs by the baselines they beat. */
export const isAbsolute = ({ kind }: CandidateReward): boolean => kind === 'return' || kind === 'module';

/** Expands the short form of a module: `{kind: ./my-reward.js}`. */
export function rewardWithModule(reward: unknown): unknown {
  if (!isMapping(reward) || typeof reward.kind !== 'string' || !isModulePath(reward.kind)) return reward;
  const { kind, ...rest } = reward;
  return { kind: 'module', ...rest, path: kind };
}

/** A reply to a prompt, with its evaluation if it could be parsed. */
export type Candidate =
  | (ScoredParameters & {
      readonly kind: 'evaluated';
      readonly text: string;
      /** True if the run's history has the same parameters. */
      readonly isRepeat?: boolean;
      /** Return of each episode. All policies of a run play the same episodes. */
      readonly returns: readonly number[];
    })
  | { readonly kind: 'unreadable'; readonly text: string; readonly failure: ParseFailureKind };

export interface CandidateGroup {
  /** The run's earlier evaluations, oldest first. */
  readonly history: readonly ScoredParameters[];
  readonly candidates: readonly Candidate[];
  readonly environment: string;
}

/** Returns the reward of each candidate of a group, in order. */
export type GroupReward = (group: CandidateGroup) => readonly number[];

/** @throws UserError if the module is unusable; the returned function throws one for unusable rewards */
export async function openReward(reward: CandidateReward): Promise<GroupReward> {
  if (reward.kind !== 'module') return (group) => rewardsOf(group, reward);
  const { file, create } = await loadModule(reward.path, 'reward', 'reward.path');
  const userReward = (await create({}, 'reward.path')) as GroupReward;
  return (group) => {
    const value = userReward(group);
    const { candidates } = group;
    if (value.length !== candidates.length || !value.every(Number.isFinite))
      throw new UserError({
        file,
        message: `the reward function must return ${candidates.length} finite numbers, one per candidate`,
        value,
      });
    return fillInvalid(candidates, (_, i) => value[i]!, reward.invalid);
  };
}

function rewardsOf(
  { candidates, history }: CandidateGroup,
  reward: Exclude<CandidateReward, { readonly kind: 'module' }>,
): readonly number[] {
  const isNew = (candidate: Candidate): candidate is EvaluatedCandidate =>
    candidate.kind === 'evaluated' && candidate.isRepeat !== true;
  const scores = candidates.filter(isNew).map(({ score }) => score);
  switch (reward.kind) {
    case 'improvement': {
      const earlierScores = history.map(({ score }) => score);
      const incumbent = earlierScores.length === 0 ? 0 : largest(earlierScores);
      const scale = spreadOf(earlierScores) || spreadOf(scores) || 1;
      return fillInvalid(candidates, ({ score }) => (score - incumbent) / scale, reward.invalid, isNew);
    }
    case 'return': {
      const shareOf = ({ score }: ScoredParameters) => (score - reward.low) / (reward.high - reward.low);
      return fillInvalid(candidates, (one) => Math.min(1, Math.max(0, shareOf(one))), reward.invalid);
    }
    case 'rank':
      return fillInvalid(candidates, ({ score }) => rankOf(score, scores), reward.invalid, isNew);
  }
}

/** Rank divided by n, from 1/n for the lowest score to 1 for the highest; ties get their mean rank. */
function rankOf(score: number, scores: readonly number[]): number {
  const lowerCount = scores.filter((other) => other < score).length;
  const equalCount = scores.filter((other) => other === score).length;
  return (lowerCount + (equalCount + 1) / 2) / scores.length;
}

const spreadOf = (scores: readonly number[]) => (scores.length < 2 ? 0 : standardDeviation(scores));

type EvaluatedCandidate = Candidate & { readonly kind: 'evaluated' };

/**
 * Candidates that don't count get `invalid`, or the lowest reward of the others in the group if that is lower. For
 * ranks and improvements, a repeat doesn't count: a run would ask again, and a copy of the best would rank high.
 */
function fillInvalid(
  candidates: readonly Candidate[],
  rewardOf: (candidate: EvaluatedCandidate, index: number) => number,
  invalid: number,
  counts = (candidate: Candidate): candidate is EvaluatedCandidate => candidate.kind === 'evaluated',
): readonly number[] {
  const values = candidates.map((candidate, i) => (counts(candidate) ? rewardOf(candidate, i) : undefined));
  const worst = smallest([invalid, ...values.filter((value) => value !== undefined)]);
  return values.map((value) => value ?? worst);
}
