import { type CallRecord, callId, stageOf } from '../../src/runs/calls.js';
import { programFailureText } from '../../src/runs/failure-text.js';
import { type Imitation, promptHash } from './example.js';
import { imitate } from './recipes.js';
import { placeKey, type SourceRun } from './source-run.js';

/** Imitates every accepted program that corrects a failed one. The prompt contains the failed program and its error. */
export function repair(run: SourceRun): readonly Imitation[] {
  const failures = new Map<string, string>();
  const examples: Imitation[] = [];
  const steps = new Map(run.steps.map((step) => [step.iteration, step]));
  for (const call of run.recorded.calls) {
    if (stageOf(call) !== 'proposal') continue;
    const failure = failureOf(call);
    if (failure !== undefined) failures.set(callId(call), failure);
    const repaired = failures.get(callId({ ...call, attempt: call.attempt - 1 }));
    if (call.outcome.kind !== 'accepted' || repaired === undefined) continue;
    const step = steps.get(call.iteration);
    // There is no proposal if the program failed during its evaluation.
    const proposed = step?.proposals.find(({ entry }) => placeKey(entry) === placeKey(call));
    if (step === undefined || proposed === undefined) continue;
    const prompt = call.messages;
    const { promptTokens } = call.completion?.usage ?? {};
    const own = { ...step, prompt, promptHash: promptHash(prompt), promptTokens };
    const example = imitate(run, 'repair', own, proposed);
    examples.push({ ...example, lineage: { ...example.lineage, repaired } });
  }
  return examples;
}

function failureOf({ outcome }: CallRecord): string | undefined {
  if (outcome.kind !== 'rejected') return undefined;
  const failure = outcome.failure;
  return failure.kind === 'program' ? programFailureText(failure) : undefined;
}
