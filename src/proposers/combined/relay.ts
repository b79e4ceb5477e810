/** Proposers that take over from each other: for example, a language model proposes first, then a search continues. */
import type { LegEnd } from '../../config/relay.js';
import { rememberedEntries } from '../../prompting/context/history.js';
import { type BufferEntry, bestEntries, entriesBefore } from '../../rollout/replay-buffer.js';
import { largest, median } from '../../statistics/descriptive.js';
import { nearBestCount, noiseFloor, spreadOf } from '../../statistics/noise-floor.js';
import type { ProposalRequest, Proposer } from '../proposer.js';

interface Leg {
  readonly name: string;
  readonly end: LegEnd;
  readonly proposer: Proposer;
}

/** One leg proposes all candidates of an iteration; a search treats everything before its leg as its warm-up. */
export function relayProposer(legs: readonly Leg[]): Proposer {
  return {
    id: `relay(${legs.map(({ proposer }) => proposer.id.replace(/^baseline\//, '')).join('+')})`,
    model: legs.find(({ proposer }) => proposer.model)?.proposer.model,
    propose(request) {
      const { pastProposals } = request;
      const { leg, legStart } = legAt(legs, request);
      const warmup = rememberedEntries(entriesBefore(pastProposals?.entries ?? [], legStart)).length;
      const task = leg === legs[0] ? request.task : { ...request.task, warmup };
      return leg.proposer.propose({ ...request, task, member: leg.name });
    },
  };
}

/**
 * Finds the leg of an iteration, and the leg's first iteration. The leg is the last that has proposed (initially, the
 * first) or, if that has ended, the next. Uses only records of earlier iterations, so resumed runs and replays agree.
 */
function legAt(
  legs: readonly Leg[],
  { iteration, pastProposals, task }: ProposalRequest,
): { readonly leg: Leg; readonly legStart: number } {
  const turns = [...(pastProposals?.memberTurns.values() ?? [])].filter((one) => one.iteration < iteration);
  const names = new Set(turns.map(({ member }) => member));
  const latest = legs.findLastIndex(({ name }) => names.has(name));
  const [leg, next] = [legs[latest] ?? legs[0]!, legs[latest + 1]];
  const legTurns = turns.filter(({ member }) => member === leg.name);
  const legStart = legTurns.reduce((first, one) => Math.min(first, one.iteration), iteration);
  if (legTurns.length === 0 || next === undefined) return { leg, legStart };
  const entries = entriesBefore(pastProposals?.entries ?? [], iteration);
  // A search learns nothing from equal returns, so the leg before it becomes twice as long.
  const isFlat = entries.every(({ score }) => score === entries[0]!.score);
  const end = isFlat && next.proposer.model === undefined ? doubleEnd(leg.end) : leg.end;
  const progress = { calls: legTurns.length, legStart, entries, paired: task.noisy !== true };
  return hasEnded(end, progress) ? { leg: next, legStart: iteration } : { leg, legStart };
}

/** Default number of evaluations without an improvement after which a leg has stalled. */
const usualPatience = 10;

const doubleEnd = ({ calls, evaluations, patience = usualPatience, until }: LegEnd): LegEnd => ({
  calls: calls && 2 * calls,
  evaluations: evaluations && 2 * evaluations,
  patience: 2 * patience,
  until,
});

function hasEnded(
  { calls, evaluations, patience = usualPatience, until }: LegEnd,
  done: {
    readonly calls: number;
    readonly legStart: number;
    readonly entries: readonly BufferEntry[];
    readonly paired: boolean;
  },
): boolean {
  const { entries, paired, legStart } = done;
  const evaluationCount = entries.filter(({ iteration }) => iteration >= legStart).length;
  if (done.calls >= (calls ?? Number.POSITIVE_INFINITY)) return true;
  if (evaluationCount >= (evaluations ?? Number.POSITIVE_INFINITY)) return true;
  if (until === undefined) return false;
  const scores = entries.map(({ score }) => score);
  const floor = floorOf(entries, paired);
  // By chance, the best of 20 equal policies exceeds their median by the floor as often as two equal ones differ by it.
  if (until === 'signal') return floor !== undefined && largest(scores) - median(scores) > floor;
  const gain = largest(scores) - largest(scores.slice(0, -patience));
  return evaluationCount >= patience && scores.length > patience && gain <= (floor ?? 0);
}

/** Computes the noise floor of the best policies; those with equal returns act alike, and count once. */
function floorOf(entries: readonly BufferEntry[], paired: boolean): number | undefined {
  const distinct = new Map(
    bestEntries(entries, Number.POSITIVE_INFINITY).map(({ returns }) => [returns.join(), returns]),
  );
  const nearBest = [...distinct.values()].slice(0, nearBestCount);
  const spread = spreadOf(nearBest, paired);
  return spread && noiseFloor(spread, nearBest[0]!.length);
}
