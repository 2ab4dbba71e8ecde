import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import type { Actor } from '../../hub/contract/hub'
import { runActionOnce, runOrReturnStored } from '../../hub/database/run-once'
import { type HubEnv, httpErrors, toActor } from '../../hub/http/page-entry'
import type { Viewer } from '../../hub/viewers/queries'
import { capitalize } from '../../shared/format'
import { sha256 } from '../../shared/sha256'
import { toStorable } from '../../shared/texts'
import { Submit } from '../form/fields'

// That of send-page.tsx, which imports what is here.
type PageContext = Context<HubEnv>

/**
 * Reads a form; returns a function from field name to text, as it is stored. A missing field or a file is ''. Line
 * ends `\r\n`, which browsers send, become `\n`, so that limits count the characters typed.
 *
 * @throws VALIDATION for a malformed form
 */
export async function readForm(c: PageContext): Promise<(name: string) => string> {
  const form = await readFields(c)
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? toStorable(value.replaceAll('\r\n', '\n')) : ''
  }
}

/** Returns the fields of a form as they were sent. @throws VALIDATION for a malformed form */
export async function readFields(c: PageContext): Promise<FormData> {
  // A form without fields has no body, and programs send none of its type then.
  if (c.req.header('content-type') === undefined) return new FormData()
  try {
    return await c.req.formData()
  } catch (cause) {
    throw httpErrors.malformedForm(cause)
  }
}

/** Field with the key that a form is rendered with. */
const formKeyField = 'idempotency_key'

const formKeys = new WeakMap<PageContext, string>()

/**
 * Returns the Idempotency-Key of a form: of the key it was rendered with, where it goes and what it says. So a
 * form that is sent twice, by a double click or after a fault of the database, is written once, and one that was
 * edited after Back is another request. A form without a key is never a repeat.
 */
export const readFormKey = async (c: PageContext): Promise<string> =>
  toFormKey(c, await readFields(c))

/** Returns the same of a form that was read before. Files count by what is in them. */
export async function toFormKey(c: PageContext, form: FormData): Promise<string> {
  const given = form.get(formKeyField)
  const isKey = typeof given === 'string' && /^[\w-]{8,64}$/.test(given)
  const key = isKey ? given : c.var.context.clock.newId()
  formKeys.set(c, key)
  const said = await Promise.all(
    [...form]
      .filter(([name]) => name !== formKeyField)
      .map(async ([name, value]) => [
        name,
        typeof value === 'string'
          ? value.replaceAll('\r\n', '\n')
          : await sha256(new Uint8Array(await value.arrayBuffer())),
      ]),
  )
  return sha256(JSON.stringify([key, c.req.path, said]))
}

/** Returns the actor of a form that creates something, once however often it is sent. */
export const readFormActor = async (c: PageContext, viewer: Viewer): Promise<Actor> =>
  toActor(viewer, await readFormKey(c))

/**
 * Runs what a form asks for once, where that is no batch that stores its own answer. Two that run at the same time
 * both run: `act` itself refuses the second.
 */
export async function runFormOnce<Answer>(
  c: PageContext,
  { id: accountId }: Pick<Viewer, 'id'>,
  action: string,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const { db, clock } = c.var.context
  const once = { accountId, key: await readFormKey(c), action, input: null }
  const run = () => runActionOnce(db, once, clock.now(), act)
  return (await runOrReturnStored(db, once, run)).answer
}

/** Returns the key that the form was rendered with, or got when it was read; null before. */
const getFormKey = (c: PageContext): string | null => formKeys.get(c) ?? null

/** The key of the page that is being rendered, which happens in one go; null between pages. */
let pageKey: string | null = null

/** Renders a page, all forms of which carry the key. What they are for and say keeps them apart. */
export function renderWithKey<Html>(key: string, render: () => Html): Html {
  pageKey = key
  try {
    return render()
  } finally {
    pageKey = null
  }
}

/** The hidden key of a form that creates something, new with each rendering of its page. */
export const FormKey: FC = () => {
  if (pageKey === null) throw new Error('A form is rendered outside of a page.')
  return <input type="hidden" name={formKeyField} value={pageKey} />
}

/** Names of fields with a key or another secret, which is never sent back. */
export const secretFields = ['key', 'value', 'new_value', 'response']

/** A form that could not be saved, with what was typed. */
export interface Kept {
  action: string
  fields: [name: string, text: string][]
}

/** Returns the form of a request, to be sent again; null for a request without one, and for one with a secret. */
export async function readKeptForm(c: Context<HubEnv>): Promise<Kept | null> {
  if (c.req.method !== 'POST') return null
  const form = await readFields(c).catch(() => new FormData())
  const typed = [...form].flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && name !== formKeyField ? [[name, value]] : [],
  )
  if (typed.some(([name]) => secretFields.includes(name))) return null
  const { pathname, search } = new URL(c.req.url)
  const key = getFormKey(c)
  return { action: pathname + search, fields: key ? [...typed, [formKeyField, key]] : typed }
}

/** Shows a form that could not be saved: texts to be read and copied, and a button that sends it again. */
export const KeptForm: FC<{ kept: Kept }> = ({ kept }) => (
  <form class="form up5" method="post" action={kept.action}>
    {kept.fields.map(([name, text], index) => (
      <KeptField id={`kept-${index}`} name={name} text={text} />
    ))}
    <div>
      <Submit>Send again</Submit>
    </div>
  </form>
)

const KeptField: FC<{ id: string; name: string; text: string }> = ({ id, name, text }) => {
  if (!/\s/.test(text)) return <input type="hidden" name={name} value={text} />
  return (
    <div>
      <label for={id}>{capitalize(name.replaceAll('_', ' '))}</label>
      {text.includes('\n') || text.length > 80 ? (
        <textarea id={id} name={name} rows={6}>
          {text.replaceAll('\r\n', '\n')}
        </textarea>
      ) : (
        <input id={id} name={name} value={text} />
      )}
    </div>
  )
}
