import OpenAI, { type ClientOptions } from 'openai';
import { z } from 'zod';
import { lowestLimit } from '../language-model.js';
import { jsonFetch } from './json-fetch.js';

/** What servers call the longest prompt and answer together; of llama.cpp's two names, the first is what a slot holds. */
const names = [
  ...['max_model_len', 'context_length', 'context_window', 'max_context_length'],
  ...['n_ctx', 'n_ctx_train'],
];

const factsSchema = z.record(z.string(), z.unknown());

function lengthsIn(facts: unknown): readonly number[] {
  const { data = {} } = factsSchema.safeParse(facts);
  const isLength = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;
  return names.map((name) => data[name]).filter((value): value is number => isLength(value));
}

/** A run doesn't wait longer for what it can do without. */
const patienceMs = 5_000;

/**
 * Tokens of prompt and answer together, as the server's list of models states them; undefined where it doesn't.
 * @throws the reason of the signal once it is aborted
 */
export async function servedContext(
  settings: ClientOptions,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const client = new OpenAI({ ...settings, fetch: jsonFetch });
  const asked = AbortSignal.any([AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]);
  const get = async (path: string): Promise<Record<string, unknown>> => {
    try {
      return factsSchema.parse(await client.get(path, { signal: asked }));
    } catch {
      signal?.throwIfAborted();
      return {};
    }
  };
  const version = /\/v\d/.test(client.baseURL) ? '' : '/v1';
  const { data } = z.array(factsSchema).safeParse((await get(`${version}/models`)).data);
  // A server of one model answers by any name.
  const model = data?.find(({ id }) => id === name) ?? (data?.length === 1 ? data[0] : undefined);
  const lengths = [model, model?.top_provider, model?.meta].flatMap(lengthsIn);
  // Earlier versions of llama.cpp list only what the model was trained with.
  if (model?.owned_by === 'llamacpp' && lengths.length === 1) {
    const props = await get(`${client.baseURL.replace(/\/v1$/, '')}/props`);
    lengths.push(...lengthsIn(props.default_generation_settings));
  }
  return lowestLimit(...lengths);
}
