/** Handles `POST /v1/embeddings`: the mean of a text's last hidden states, not normalised. */
import { z } from 'zod';
import type { Endpoint } from './admission.js';
import { badRequest, sendJson } from './http.js';
import { eachPrompt, promptsSchema } from './prompts.js';
import { parsedBody } from './request-fields.js';
import { type ModelService, servedModel, usageOf, usageText } from './service.js';

const requestSchema = z.looseObject({
  model: z.string().nullish(),
  input: promptsSchema,
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
});

export const embeddingsEndpoint =
  ({ model }: ModelService): Endpoint =>
  async ({ body, response, signal }) => {
    const request = parsedBody(requestSchema, body);
    const served = servedModel(request.model, model.served);
    const calls = await eachPrompt(request.input, model.slots, (prompt) =>
      served.model.generate([], { seeds: [0], prompt, embedding: true, signal }),
    );
    const vectors = calls.map(([first]) => first?.embedding ?? []);
    const size = vectors[0]?.length;
    if ((request.dimensions ?? size) !== size)
      throw badRequest(`dimensions: must be ${size}, the length of this model's embeddings`, 'dimensions');
    const usage = usageOf(calls);
    const { prompt_tokens, total_tokens } = usage;
    const written = (vector: readonly number[]) =>
      request.encoding_format === 'base64'
        ? Buffer.from(Float32Array.from(vector).buffer).toString('base64')
        : vector;
    sendJson(response, {
      object: 'list',
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: written(vector) })),
      model: served.name,
      usage: { prompt_tokens, total_tokens },
    });
    return usageText(usage);
  };
