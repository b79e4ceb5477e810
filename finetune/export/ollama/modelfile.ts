/** Writes Modelfiles for `ollama create`. */
import path from 'node:path';
import { requireOneLine } from '../../../src/base/text/one-line.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import {
  openChatTemplate,
  readTokenizerConfig,
  tokenText,
} from '../../../src/models/local/tokens/chat-template.js';
import { readTokenizerJson } from '../../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../../src/models/local/weights/generation-config.js';
import { addedBos } from '../gguf/vocabulary.js';
import { ollamaTemplate } from './template.js';

/** Largest context that a Modelfile requests, in tokens, because Ollama allocates memory for the whole context. */
const contextLimit = 8192;

export interface Modelfile {
  readonly text: string;
  /** True if the Modelfile includes a template that renders prompts like the model's own. */
  readonly hasTemplate: boolean;
}

/** @throws UserError if the GGUF file's name contains a line break */
export function ggufModelfile(
  model: string,
  gguf: string,
  variables: Readonly<Record<string, unknown>>,
  contextTokens: number,
  ignoredKeys: readonly string[] = [],
): Modelfile {
  requireOneLine(gguf, '--out');
  const config = readDecoderConfig(model, ignoredKeys);
  const stopTexts = readStopTexts(model, config);
  const chatTemplate = openChatTemplate(model, readTokenizerConfig(model), variables);
  const template = ollamaTemplate(chatTemplate, addedBos(model, config));
  const { temperature, topP, topK, minP, repetitionPenalty } = readGenerationDefaults(model);
  return {
    hasTemplate: template !== undefined,
    text: joinLines([
      `FROM ${explicitPath(gguf)}`,
      template === undefined
        ? "# No TEMPLATE: the model's own can't be converted. Ollama guesses one; compare it with the model's\n" +
          '# chat_template, and write the correct one here: https://docs.ollama.com/modelfile#template'
        : `# Derived from the model's own template\nTEMPLATE """${template}"""`,
      ...stopTexts.map((end) => `PARAMETER stop ${JSON.stringify(end)}`),
      '# Sample like policyloop; by default, Ollama penalises repetition, which distorts numbers',
      `PARAMETER temperature ${temperature ?? 1}`,
      `PARAMETER top_p ${topP ?? 1}`,
      `PARAMETER top_k ${topK ?? 0}`,
      `PARAMETER min_p ${minP ?? 0}`,
      `PARAMETER repeat_penalty ${repetitionPenalty ?? 1}`,
      `# The model supports ${contextTokens} tokens; prompts longer than num_ctx lose their beginning`,
      `PARAMETER num_ctx ${Math.min(contextTokens, contextLimit)}`,
    ]),
  };
}

const joinLines = (parts: readonly string[]) => `${parts.join('\n')}\n`;

/** Adds `./` to relative paths, so that Ollama doesn't mistake them for model names. */
function explicitPath(file: string): string {
  return path.isAbsolute(file) || file.startsWith('.') ? file : `./${file}`;
}

function readStopTexts(model: string, config: DecoderConfig): string[] {
  const { added_tokens: tokens } = readTokenizerJson(model);
  const eosTokens = readGenerationDefaults(model).eosTokens;
  const ids = new Set(eosTokens.length > 0 ? eosTokens : config.eosTokens);
  const eos = tokenText(readTokenizerConfig(model).eos_token);
  return tokens.filter(({ id, content }) => ids.has(id) || content === eos).map(({ content }) => content);
}
