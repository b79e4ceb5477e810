/** Whether limits leave room for anything. */
import type { Assembly } from '../experiment/assemble.js';
import { ledgerOf } from '../experiment/parts.js';
import { evaluatedEach } from '../search/settings.js';
import { valueAt } from '../settings/schema.js';
import type { Finding } from './findings.js';
import type { PromptForecast } from './prompt-forecast.js';

export function limitFindings(assembly: Assembly, forecast: PromptForecast): readonly Finding[] {
  return [...evaluationFindings(assembly), ...callFindings(assembly, forecast)];
}

function evaluationFindings({ config, imported }: Assembly): readonly Finding[] {
  const { limits, warmup } = config;
  const first = warmup.policies + imported.length;
  const fewest = first + evaluatedEach(config);
  if (limits.evaluations === undefined || limits.evaluations >= fewest) return [];
  return [
    {
      level: 'error',
      field: 'limits.evaluations',
      value: limits.evaluations,
      message: `the warm-up takes ${first} and the first iteration ${fewest - first}: the run would end before it`,
      remedy: `limits.evaluations=${fewest} or higher`,
    },
  ];
}

function callFindings(assembly: Assembly, { first }: PromptForecast): readonly Finding[] {
  const reservation = ledgerOf(assembly).reserve([first]);
  if (reservation.kind === 'granted') return [];
  const { limit } = reservation;
  return [
    {
      level: 'error',
      field: `limits.${limit}`,
      value: valueAt(limit.split('.'), assembly.config.limits),
      message: 'the first call alone could pass this limit: the run would end before it began',
      remedy: `raise limits.${limit}${limit.endsWith('calls') ? '' : ', or lower model.maxTokens'}`,
    },
  ];
}
