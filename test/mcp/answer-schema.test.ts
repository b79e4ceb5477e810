/** The schemas of answers that tools declare: the fields of a result, without what is in them. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { outputSchemaFile } from '../../src/base/output-schema.js';
import { answerSchema } from '../../src/mcp/answer-schema.js';
import { tools } from '../../src/mcp/tools.js';

describe('answerSchema', () => {
  it('lists the fields of a result with their descriptions, but leaves out nested schemas', () => {
    expect(answerSchema('doctor')).toEqual({
      ...{ type: 'object', required: ['result'] },
      properties: {
        result: {
          type: 'object',
          properties: {
            healthy: { type: 'boolean', description: 'True if no check found a problem.' },
            checks: { type: 'array' },
          },
        },
        notes: { type: 'array' },
      },
    });
    expect(JSON.stringify(answerSchema('compare'))).toContain('"tasks":{"type":"array"}');
  });

  it('includes only the given kinds of result, and the command defines each kind that a tool names', () => {
    const kinds = tools.flatMap(({ command, kinds: own = [] }) => own.map((kind) => ({ command, kind })));
    expect(kinds.length).toBeGreaterThan(2);
    for (const { command, kind } of kinds) {
      const { definitions } = JSON.parse(readFileSync(outputSchemaFile(command), 'utf8')) as {
        definitions: object;
      };
      expect(Object.keys(definitions)).toContain(kind);
    }
    const text = JSON.stringify(answerSchema('show', ['IterationFigures']));
    expect(text).toContain('"evaluations"');
    expect(text).not.toContain('"confirmed"');
  });
});
