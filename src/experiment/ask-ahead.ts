/** Requests several iterations' proposals concurrently (`pipeline`). */
import { evaluationsOf } from '../config/critic.js';
import type { CallRecord } from '../runs/calls.js';
import { evaluatedEach } from '../search/settings.js';
import { lastKnown } from './known.js';
import type { Experiment, StopRequests } from './parts.js';
import type { ProposalGroup } from './proposal.js';
import { proposeCandidates } from './propose.js';
import { evaluationsLeft } from './stopping.js';

/**
 * Keeps requests for `pipeline` iterations in flight. Each prompt knows the evaluations up to `pipeline`
 * iterations before it, and results are recorded in iteration order, whichever answer arrives first.
 */
export function askAhead(experiment: Experiment, stop: StopRequests) {
  // A recording answers instantly, and it may lack answers that its run never used.
  const isReplayed = experiment.config.model.provider === 'replayed';
  const { pipeline = 1 } = isReplayed ? {} : experiment.config;
  const leave = new AbortController();
  const stopping = { ...stop, finish: AbortSignal.any([stop.finish, leave.signal]) };
  const underway = new Map<number, { readonly calls: CallRecord[]; readonly group: Promise<Ended> }>();
  const emitCall = (call: CallRecord) => experiment.emit({ kind: 'call-finished', call });
  const start = (iteration: number) => {
    const calls: CallRecord[] = [];
    const onCall = pipeline === 1 ? emitCall : (call: CallRecord) => calls.push(call);
    const group = proposeCandidates(experiment, iteration, stopping, onCall);
    underway.set(iteration, {
      calls,
      group: group.then(
        (proposed) => ({ proposed }),
        (error) => ({ error }),
      ),
    });
  };
  return {
    /** Returns the proposals of the next iteration, and requests those of later ones in the meantime. */
    async next(iteration: number): Promise<ProposalGroup> {
      for (let ahead = iteration; ahead < iteration + pipeline; ahead++) {
        if (underway.has(ahead)) continue;
        if (ahead > iteration && !mayAskAhead(experiment, ahead, ahead - iteration)) break;
        start(ahead);
      }
      const { calls, group } = underway.get(iteration)!;
      const ended = await group;
      underway.delete(iteration);
      for (const call of calls) emitCall(call);
      if ('error' in ended) throw ended.error;
      return ended.proposed;
    },
    /** Sends no more requests; answers that still arrive are kept for a resumed run. */
    async close(): Promise<void> {
      leave.abort();
      await Promise.all([...underway.values()].map(({ group }) => group));
    },
  };
}

/**
 * Whether an iteration may be requested while `before` earlier ones are in flight. It may not if it could use up a
 * limit that they may need for corrections: what gets evaluated would then depend on which answer comes first.
 */
function mayAskAhead(experiment: Experiment, ahead: number, before: number): boolean {
  const { config, ledger, prompter } = experiment;
  const { candidates, corrections, critic, feedback } = config;
  if (!hasPlace(experiment, ahead)) return false;
  const asked = candidates + [critic, feedback].filter((one) => one !== undefined).length;
  const calls = (before + 1) * asked * (corrections + 1);
  return !ledger.isLimited || ledger.hasRoomFor(prompter.messages(ahead, lastKnown(config, ahead)), calls);
}

/** Whether an iteration still fits the limits once everything before it has been evaluated. */
function hasPlace(experiment: Experiment, iteration: number): boolean {
  const { completed, config } = experiment;
  const [ahead, now] = [iteration - 1, completed].map((iterations) =>
    evaluationsOf({ ...config, iterations }),
  );
  const needed = ahead! - now! + evaluatedEach(config);
  return iteration <= config.iterations && needed <= evaluationsLeft(experiment);
}

type Ended = { readonly proposed: ProposalGroup } | { readonly error: unknown };
