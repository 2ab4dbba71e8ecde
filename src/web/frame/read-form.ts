import type { Context } from 'hono'
import type { Actor } from '../../hub/contract/hub'
import { type HubEnv, httpErrors, toActor } from '../../hub/http/page-entry'
import { runActionOnce, runOrReturnStored } from '../../hub/idempotency/run-once'
import { sha256 } from '../../hub/sha256'
import type { Viewer } from '../../hub/viewers/queries'
import { toStorable } from '../../shared/texts'

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
export const formKeyField = 'idempotency_key'

const formKeys = new WeakMap<PageContext, string>()

/**
 * Returns the Idempotency-Key of a form: of the key it was rendered with, where it goes and what it says. So a
 * form that is sent twice, by a double click or after a fault of the database, is written once, and one that was
 * edited after Back is another request. A form without a key is never a repeat.
 */
export async function readFormKey(c: PageContext): Promise<string> {
  const form = await readFields(c)
  const given = form.get(formKeyField)
  const isKey = typeof given === 'string' && /^[\w-]{8,64}$/.test(given)
  const key = isKey ? given : c.var.context.clock.newId()
  formKeys.set(c, key)
  const said = [...form].flatMap(([name, value]) =>
    typeof value === 'string' && name !== formKeyField
      ? [[name, value.replaceAll('\r\n', '\n')]]
      : [],
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
export const getFormKey = (c: PageContext): string | null => formKeys.get(c) ?? null
