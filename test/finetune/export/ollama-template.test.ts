import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ollamaTemplate } from '../../../finetune/export/ollama/template.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { openChatTemplate } from '../../../src/models/local/tokens/chat-template.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { executeGoTemplate } from './go-template.js';

const folder = temporaryDirectory();

function open(jinja: string, bos = '<s>', eos = '</s>') {
  writeFileSync(path.join(folder, 'chat_template.jinja'), jinja);
  return openChatTemplate(folder, { bos_token: bos, eos_token: eos });
}

const families: Readonly<Record<string, { jinja: string; bos?: string }>> = {
  ChatML: {
    jinja:
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  },
  'ChatML with a default system message': {
    jinja:
      "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}{% endif %}" +
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}" +
      "{{ '<|im_start|>assistant\\n' }}",
  },
  'Llama 3, with a preamble in every system message': {
    jinja:
      "{{ bos_token }}{% if messages[0].role == 'system' %}{% set s = messages[0].content %}{% set messages = messages[1:] %}" +
      "{% else %}{% set s = '' %}{% endif %}" +
      "{{ '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + strftime_now('%d %b %Y') + '\\n\\n' + s + '<|eot_id|>' }}" +
      "{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}" +
      "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}",
    bos: '<s>',
  },
  'Llama 2, with the system message in the first user message': {
    jinja:
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ '[INST] <<SYS>>\\n' + m.content + '\\n<</SYS>>\\n\\n' }}" +
      "{% elif m.role == 'user' %}{% if not (loop.index0 == 1 and messages[0].role == 'system') %}{{ '[INST] ' }}{% endif %}{{ m.content + ' [/INST]' }}" +
      "{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}",
    bos: '<s>',
  },
};

const answers = (content: string): ChatMessage => ({ role: 'assistant', content });
const asks = (content: string): ChatMessage => ({ role: 'user', content });
const instruction: ChatMessage = { role: 'system', content: 'Maximise f.' };
const conversations = {
  'one question': [asks('a\nb')],
  'an instruction': [instruction, asks('params[0]: 1.5')],
  'a correction': [instruction, asks('a'), answers('b'), asks('c')],
  'three turns without an instruction': [asks('a'), answers('b'), asks('c'), answers('d'), asks('e')],
};

describe.each(Object.entries(families))('an Ollama template derived from %s', (_, { jinja, bos }) => {
  const template = open(jinja);
  const rendered = Object.entries(conversations).map(([name, messages]) => ({
    name,
    messages,
    wanted: template.render(messages),
  }));
  const go = ollamaTemplate(template, bos);

  it.each(rendered)("renders the same text as the model's own template: $name", ({ messages, wanted }) => {
    // llama.cpp itself adds the token at the start.
    expect((bos ?? '') + executeGoTemplate(go!, messages)).toBe(wanted);
  });
});

describe('no Ollama template is derived from a chat template that', () => {
  it.each([
    [
      'rejects a system message',
      "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ messages[0].content }}",
    ],
    ['counts the messages', '{% for m in messages %}{{ loop.index }} {{ m.content }}\n{% endfor %}'],
    ['shows only the last message', '{{ messages[-1].content }}'],
    [
      'contains text that Go would read as an action',
      "{% for m in messages %}{{ '{{' + m.role + m.content + '\\n' }}{% endfor %}",
    ],
  ])('%s', (_, jinja) => {
    expect(ollamaTemplate(open(jinja), undefined)).toBeUndefined();
  });
});

it.each(['"', '""', '"""'])('no Ollama template is derived if prompts start and end with %s', (quote) => {
  const jinja = `{% for m in messages %}${quote}{{ m.role }}:{{ m.content }};{% endfor %}a${quote}`;
  expect(ollamaTemplate(open(jinja), undefined)).toBeUndefined();
});
