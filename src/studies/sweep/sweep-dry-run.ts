/** Lists the settings and seeds of a sweep and estimates its calls, tokens and cost. Calls no model. */
import { type CommandContext, exitCodes } from '../../base/context.js';
import { plural } from '../../base/text/numbers.js';
import { describeFindings, errorsIn, okFinding } from '../../experiment/preflight/findings.js';
import { preflight } from '../../experiment/preflight/preflight.js';
import { addEstimates, estimateText } from '../../experiment/preflight/run-estimate.js';
import { assemble, closeEnvironment } from '../../experiment/setup/assemble.js';
import { contextOf } from '../../experiment/setup/open-models.js';
import { type Sweep, sweepPlan } from './sweep-plan.js';

export async function dryRunSweep(sweep: Sweep, json: boolean, { env, print }: CommandContext) {
  const { seeds } = sweep;
  const { entries, limits = {}, shape } = sweepPlan(sweep);
  const settings = [];
  for (const { config, name, values } of sweep.settings) {
    const assembly = await assemble(config, env);
    const context = await contextOf(assembly.config.model, assembly.proposer.model, false);
    settings.push({ name, values, findings: preflight(assembly, context) });
    await closeEnvironment(assembly);
  }
  const findings = settings.flatMap(({ findings, name }) => findings.map((one) => ({ ...one, name })));
  const [first, ...others] = seeds.flatMap(() => findings.flatMap(({ estimate }) => estimate ?? []));
  const estimate = first && others.reduce(addEstimates, first);
  const cost = estimate ? estimateText(estimate) : 'no tokens, no cost';
  const caution = Object.keys(limits).length > 0 ? '; sweep.limits may end it earlier' : '';
  const shownFindings = findings
    .filter(({ field, level }) => level !== 'ok' || field === 'estimate')
    .map(({ field, name, ...one }) => ({ ...one, field: field === 'estimate' ? name : `${name}: ${field}` }));
  const total = okFinding(plural(entries.length, 'run'), `${shape} (${seeds.join(', ')}): ${cost}${caution}`);
  const summary = { runs: entries.length, seeds, settings, limits, estimate: estimate ?? null };
  print(json ? JSON.stringify(summary) : describeFindings([...shownFindings, total]));
  return errorsIn(findings).length > 0 ? exitCodes.usage : 0;
}
