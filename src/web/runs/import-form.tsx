import type { Child, FC } from 'hono/jsx'
import { type EntryRule, readBoundedBody } from '../../hub/http/page-entry'
import { type AddedRun, type ImportedLine, setErrors } from '../../hub/trials/set-actions'
import { bodyLimits, trialLimits } from '../../shared/config'
import { isUtf8 } from '../../shared/cut-text'
import { AppError } from '../../shared/errors'
import { formatCount } from '../../shared/format'
import { activationPath, setPath } from '../../shared/paths'
import { Field, Submit } from '../form/fields'
import { createForm } from '../form/form-state'
import type { PageContext } from '../frame/send-page'
import { TextLink } from '../parts/links'

/** The rule of the form: its handler reads it, to say on the page of the set what is wrong with it. */
export const importFormRule: EntryRule = { rate: 'write', body: 'image' }

/** Bytes of the form besides its lines. */
const otherBytesMax = 16 * 1024

const importErrors = {
  unreadable: (cause?: unknown) =>
    new AppError('VALIDATION', 'The cases are not text in UTF-8.', {
      hint: 'Choose a file of JSON lines, as an export has them, or paste its lines.',
      cause,
    }),
  none: () =>
    new AppError('VALIDATION', 'There is no case to import.', {
      hint: 'Choose a file, or paste lines.',
    }),
}

/** What the form was sent with. */
export interface ReadImport {
  /** All lines: those that were pasted, then those of the file. */
  text: string
  /** Lines that were pasted. */
  pasted: string
}

/** Reads the form. @throws TOO_LARGE, VALIDATION for what is no text, and when it is empty */
export async function readImport(c: PageContext): Promise<ReadImport> {
  const limits = { bytesMax: trialLimits.importBytesMax + otherBytesMax, readMs: bodyLimits.readMs }
  const bytes = await readBoundedBody(c.req.raw, limits, setErrors.importTooLarge)
  if (!isUtf8(bytes)) throw importErrors.unreadable()
  const headers = { 'content-type': c.req.header('content-type') ?? '' }
  const form = await new Response(bytes, { headers }).formData().catch((cause: unknown) => {
    throw importErrors.unreadable(cause)
  })
  const [pasted = '', file = ''] = await Promise.all(
    ['lines', 'file'].map(async (name) => {
      const value = form.get(name)
      const text = typeof value === 'string' || value === null ? (value ?? '') : await value.text()
      return text.replaceAll('\r\n', '\n')
    }),
  )
  const texts = [pasted, file].filter((text) => text.trim() !== '')
  if (texts.length === 0) throw importErrors.none()
  return { text: texts.join('\n'), pasted }
}

/** Returns those pasted lines that were refused, to be corrected. */
export function listRefused({ pasted }: ReadImport, lines: ImportedLine[]): string {
  const refused = new Set(
    lines.filter(({ result }) => result === 'refused').map(({ line }) => line),
  )
  return pasted
    .split('\n')
    .filter((_, at) => refused.has(at + 1))
    .join('\n')
}

/** The form that imports cases. @param lines what stands in it */
export const ImportForm: FC<{ set: string; lines: string }> = ({ set, lines }) => (
  <form
    class="form up3"
    method="post"
    action={`${setPath(set)}/import`}
    enctype="multipart/form-data"
  >
    <Field
      form={createForm({ file: '' })}
      name="file"
      label="File of JSON lines"
      type="file"
      accept=".jsonl,.ndjson,.json,.txt"
      hint={`A case each, as an export has them; at most ${trialLimits.importBytesMax / 1024} KiB. A run that the set has stays as it is.`}
    />
    <Field
      form={createForm({ lines })}
      as="textarea"
      name="lines"
      label="Or paste lines"
      rows={lines === '' ? 3 : 8}
      class="code"
      spellcheck={false}
      autocomplete="off"
      placeholder={'{"activation_id": "...", "checks": [{"type": "contains", "value": "Friday"}]}'}
    />
    <div>
      <Submit>Import cases</Submit>
    </div>
  </form>
)

/** What came of cases that were to be added to a set. */
export interface Added {
  added: number
  /** The set had them. */
  kept: number
  refused: { label: Child; message: string }[]
}

const countResults = (of: { result: ImportedLine['result'] }[]) => ({
  added: of.filter(({ result }) => result === 'added').length,
  kept: of.filter(({ result }) => result === 'kept').length,
})

export const toAddedLines = (lines: ImportedLine[]): Added => ({
  ...countResults(lines),
  refused: lines
    .filter(({ result }) => result === 'refused')
    .map(({ line, message }) => ({ label: `Line ${line}`, message })),
})

export const toAddedRuns = (runs: AddedRun[]): Added => ({
  ...countResults(runs),
  refused: runs
    .filter(({ result }) => result === 'refused')
    .map(({ activationId, message }) => ({
      label: <TextLink href={activationPath(activationId)}>Run</TextLink>,
      message,
    })),
})

/** Refused cases that a page names. */
const refusedShown = 20

/** Says how many cases were added, how many were there, and why others were refused. */
export const AddedNote: FC<Added> = ({ added, kept, refused }) => (
  <div class="note up3" role="status">
    <p>
      {formatCount(added)} added, {formatCount(kept)} {kept === 1 ? 'was' : 'were'} there
      {refused.length > 0 && `, ${formatCount(refused.length)} refused`}.
    </p>
    {refused.length > 0 && (
      <ul class="up2">
        {refused.slice(0, refusedShown).map(({ label, message }) => (
          <li>
            {label}: {message}
          </li>
        ))}
      </ul>
    )}
    {refused.length > refusedShown && (
      <p>{formatCount(refused.length - refusedShown)} more were refused.</p>
    )}
  </div>
)
