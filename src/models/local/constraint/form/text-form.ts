/** Translates answer forms into expressions. */
import type { TextForm } from '../../../language-model.js';
import { utf8 } from './characters.js';
import { FormError } from './expression-table.js';
import { Expressions } from './expressions.js';
import { gbnfExpression } from './gbnf.js';
import { jsonExpression } from './json-schema.js';
import { wholePattern } from './pattern.js';

export interface SealedForm {
  readonly expressions: Expressions;
  readonly root: number;
}

/** Takes a few seconds at most. @throws FormError if the form can't be enforced */
export function sealForm(form: TextForm): SealedForm {
  const expressions = new Expressions();
  const root = bounded(() => {
    const found = expressionOf(expressions, form);
    expressions.seal(found);
    return found;
  });
  return { expressions, root };
}

/** Reports a stack overflow as a FormError. */
export function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? new FormError('this form is nested too deeply') : error;
  }
}

function expressionOf(e: Expressions, form: TextForm): number {
  switch (form.kind) {
    case 'literal':
      return e.literal(form.text);
    case 'free':
      return e.not(e.sequence(e.anything, e.literals(form.without), e.anything));
    case 'json':
      return jsonExpression(e, form.schema, form.lenient);
    case 'regex':
      return wholePattern(e, form.pattern, (ranges) => utf8(e, ranges));
    case 'gbnf':
      return gbnfExpression(e, form.grammar);
    case 'sequence':
      return e.sequence(...form.parts.map((part) => expressionOf(e, part)));
    case 'either':
      return e.either(...form.options.map((option) => expressionOf(e, option)));
    case 'repeated':
      return e.repeat(expressionOf(e, form.part));
  }
}
