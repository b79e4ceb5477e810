/**
 * List prices of common hosted models. Models whose price depends on more than the three token counts (for example, on
 * prompt length, time of day or cache writes) are omitted, because their cost would be a guess.
 */
import type { OpenAIConfig, PriceConfig } from '../settings.js';

/** US dollars per million prompt tokens, cached prompt tokens (null: not published) and completion tokens. */
type Price = readonly [input: number, cached: number | null, output: number];

/** For each host: the month in which its price list was read, and each price with its models, separated by spaces. */
export const priceLists: Readonly<
  Record<string, { readonly month: string; readonly models: readonly (readonly [...Price, names: string])[] }>
> = {
  // https://developers.openai.com/api/docs/pricing
  'api.openai.com': {
    month: '2026-09',
    models: [
      [0.75, 0.075, 4.5, 'gpt-5.4-mini'],
      [0.2, 0.02, 1.25, 'gpt-5.4-nano'],
      [1.75, 0.175, 14, 'gpt-5.2'],
      [1.25, 0.125, 10, 'gpt-5.1 gpt-5'],
      [0.25, 0.025, 2, 'gpt-5-mini'],
      [0.05, 0.005, 0.4, 'gpt-5-nano'],
      [2, 0.5, 8, 'gpt-4.1 o3'],
      [0.4, 0.1, 1.6, 'gpt-4.1-mini'],
      [0.1, 0.025, 0.4, 'gpt-4.1-nano'],
      [2.5, 1.25, 10, 'gpt-4o'],
      [0.15, 0.075, 0.6, 'gpt-4o-mini'],
      [1.1, 0.275, 4.4, 'o4-mini'],
      [1.1, 0.55, 4.4, 'o3-mini'],
      [15, 7.5, 60, 'o1'],
    ],
  },
  // https://platform.claude.com/docs/en/about-claude/pricing
  'api.anthropic.com': {
    month: '2026-10',
    models: [
      [10, 0.25, 50, 'claude-fable-5-1'],
      [10, 1, 50, 'claude-fable-5'],
      [4, 0.2, 20, 'claude-opus-5-5'],
      [5, 0.5, 25, 'claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5'],
      [2, 0.1, 10, 'claude-sonnet-5-5'],
      [2, 0.2, 10, 'claude-sonnet-5'],
      [3, 0.3, 15, 'claude-sonnet-4-6 claude-sonnet-4-5'],
      [1, 0.1, 5, 'claude-haiku-4-5'],
    ],
  },
  // https://ai.google.dev/gemini-api/docs/pricing
  'generativelanguage.googleapis.com': {
    month: '2026-09',
    models: [
      [1.5, 0.15, 9, 'gemini-3.5-flash'],
      [0.3, null, 2.5, 'gemini-3.5-flash-lite'],
      [0.25, 0.025, 1.5, 'gemini-3.1-flash-lite'],
      [0.3, 0.03, 2.5, 'gemini-2.5-flash'],
      [0.1, 0.01, 0.4, 'gemini-2.5-flash-lite'],
    ],
  },
  // https://mistral.ai/pricing/api
  'api.mistral.ai': {
    month: '2026-09',
    models: [
      [0.5, 0.05, 1.5, 'mistral-large-latest'],
      [1.5, 0.15, 7.5, 'mistral-medium-latest'],
      [0.15, 0.015, 0.6, 'mistral-small-latest'],
    ],
  },
  // https://console.groq.com/docs/models
  'api.groq.com': {
    month: '2026-09',
    models: [
      [0.15, null, 0.6, 'openai/gpt-oss-120b'],
      [0.075, null, 0.3, 'openai/gpt-oss-20b'],
    ],
  },
};

/** The date of a version: `gpt-5-mini-2025-08-07`, `claude-haiku-4-5-20251001`. */
const versionDate = /-20\d\d-?\d\d-?\d\d$/;

type NamedModel = Pick<OpenAIConfig, 'name'> & Partial<Pick<OpenAIConfig, 'baseUrl' | 'extra'>>;

/** Returns the list price of a model; undefined if it isn't known. */
export function listPrice(
  { baseUrl, extra, name }: NamedModel,
  env: Readonly<Record<string, string | undefined>> = {},
): PriceConfig | undefined {
  const address = baseUrl ?? (env.OPENAI_BASE_URL?.trim() || 'https://api.openai.com/v1');
  const { host, protocol } = URL.canParse(address) ? new URL(address) : {};
  const priceList = protocol === 'https:' ? priceLists[host!] : undefined;
  // Other service tiers have other prices.
  if (priceList === undefined || extra?.service_tier !== undefined) return undefined;
  const model = name.replace(versionDate, '');
  const entry = priceList.models.find(([, , , names]) => names.split(' ').includes(model));
  // The version of 2024-05-13 costs more than gpt-4o.
  if (entry === undefined || name === 'gpt-4o-2024-05-13') return undefined;
  const [input, cachedInput, output] = entry;
  return { input, ...(cachedInput !== null && { cachedInput }), output, listed: priceList.month };
}

/** Adds a known list price to a new run's config unless it sets one, so that price updates won't change its cost. */
export function withListPrice<Model extends { readonly provider: string }>(
  model: Model,
  env: Readonly<Record<string, string | undefined>>,
): Model {
  const openai = model as unknown as OpenAIConfig;
  if (model.provider !== 'openai' || openai.price !== undefined) return model;
  const price = listPrice(openai, env);
  return price === undefined ? model : { ...model, price };
}
