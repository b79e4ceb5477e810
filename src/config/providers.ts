/** Explains what to write instead of the name of a hosted provider, e.g. `provider: anthropic`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { closestMatch } from '../base/errors.js';
import { isModulePath } from '../base/modules/user-module.js';
import { packageRoot, packageText } from '../base/package.js';
import { isMapping } from '../base/settings/schema.js';

/** Other names for the bundled configs in `configs/providers`. */
const aliases: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  google: 'gemini',
  vertex: 'gemini',
  grok: 'xai',
  gpt: 'openai',
  hf: 'hugging-face',
};

const anyServerHint = '{provider: openai, baseUrl: https://…/v1, apiKeyEnv: VARIABLE_WITH_THE_KEY, name: …}';

/** The part of a model name that is specific to one provider: the vendor, or the colon before an Ollama tag. */
const vendorPattern = /^(?:claude|deepseek|gemini|gpt|grok|mistral)|(?<=^[^/:]{0,200}):/;

const slug = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

interface ProviderIssue {
  readonly input?: unknown;
  /** The known providers, if only the provider is wrong. */
  readonly options?: unknown;
}

/** Suggests what to write for a provider, or for text such as `anthropic/claude-sonnet-4-5` instead of a section. */
function hintFor({ input, options }: ProviderIssue): string | undefined {
  const { provider: text, name } = isMapping(input) ? input : { provider: input, name: undefined };
  if (typeof text !== 'string' || isModulePath(text)) return undefined;
  const [provider = '', ...rest] = text.split('/');
  const names = readdirSync(join(packageRoot(), 'configs', 'providers')).map((file) => file.split('.')[0]!);
  const known = Array.isArray(options) ? options.map(String) : ['local'];
  const beginsWith = (word: string) => slug(provider).startsWith(slug(word));
  const prefixMatch = names.find(beginsWith) ?? aliases[Object.keys(aliases).find(beginsWith) ?? ''];
  const found = prefixMatch ?? closestMatch(provider, [...names, ...known]);
  if (found === undefined) return `for a server that implements OpenAI's API, write \`${anyServerHint}\``;
  if (known.includes(found) && (prefixMatch === undefined || slug(text) === slug(found))) return undefined;
  const { model } = parse(packageText(`configs/providers/${found}.yaml`)) as {
    model: { baseUrl?: string; name?: string };
  };
  if (typeof input === 'string' && model.name === undefined)
    return `write \`{provider: ${found}}\`; on the command line, model.provider=${found}`;
  const section = {
    ...model,
    ...(model.baseUrl !== undefined && { baseUrl: model.baseUrl.split('?')[0] }),
    ...(rest.length > 0 && { name: rest.join('/') }),
    ...(typeof name === 'string' && model.name?.includes(vendorPattern.exec(name)?.[0] ?? '') && { name }),
  };
  const yaml = stringify(section, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false });
  return `write \`${yaml.trim()}\`, as in the bundled config providers/${found}`;
}

/** Options of a union of `model` sections. */
export const modelUnionOptions = { error: hintFor };
