/** Whether limits leave room for anything. */
import type { Assembly } from '../experiment/assemble.js';
import { ledgerOf } from '../experiment/parts.js';
import { evaluatedEach } from '../search/settings.js';
import { valueAt } from '../settings/schema.js';
import { type Finding, warning } from './findings.js';
import type { PromptForecast } from './prompt-forecast.js';

export function limitFindings(assembly: Assembly, forecast: PromptForecast): readonly Finding[] {
  return [...evaluationFindings(assembly), ...costFindings(assembly), ...callFindings(assembly, forecast)];
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

/** A price of 0 is a price, by which a limit of the cost is never reached. */
function costFindings({ config }: Assembly): readonly Finding[] {
  const { critic, feedback, limits, model } = config;
  const limit = ['cost', 'perCall.cost', 'total.cost'].find(
    (key) => valueAt(key.split('.'), limits) !== undefined,
  );
  const models = [
    ...(model.provider === 'portfolio' ? model.members : [model]),
    critic?.model,
    feedback?.model,
  ];
  const prices = models.flatMap((one) =>
    one !== undefined && 'price' in one && one.price ? [one.price] : [],
  );
  const isFree = prices.every(({ cachedInput = 0, input, output }) => cachedInput + input + output === 0);
  if (limit === undefined || prices.length === 0 || !isFree) return [];
  return [
    warning({
      field: `limits.${limit}`,
      value: valueAt(limit.split('.'), limits),
      message: 'never ends the run: by model.price, nothing costs anything',
      remedy:
        'give the price per million tokens (model.price.input, model.price.output), or use limits.tokens',
    }),
  ];
}
