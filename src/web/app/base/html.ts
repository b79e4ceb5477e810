import htm from 'htm';
import { h } from 'preact';

export const html = htm.bind(h);

export interface InputEvent {
  readonly currentTarget: HTMLInputElement;
}

/** Creates a submit handler. `field` returns the trimmed value of a named field or of the pressed button. */
export const submitHandler =
  (handle: (field: (name: string) => string) => void) =>
  (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget, event.submitter);
    handle((name) => String(data.get(name) ?? '').trim());
  };
