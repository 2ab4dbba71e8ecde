import type { Context } from 'hono'
import { type HubEnv, httpErrors } from '../../hub/http/page-entry'

// That of send-page.tsx, which imports what is here.
type PageContext = Context<HubEnv>

/**
 * Reads a form; returns a function from field name to text. A missing field or a file is ''. Line
 * ends `\r\n`, which browsers send, become `\n`, so that limits count the characters typed.
 *
 * @throws VALIDATION for a malformed form
 */
export async function readForm(c: PageContext): Promise<(name: string) => string> {
  const form = await readFields(c)
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
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

/** Field with the key of a form that is sent again. */
export const formKeyField = 'idempotency_key'

const formKeys = new WeakMap<PageContext, string>()

/**
 * Returns the Idempotency-Key of a form: the one it was sent with before, else a new one. So a form that met a
 * fault of the database is written once, however often it is sent.
 */
export async function readFormKey(c: PageContext): Promise<string> {
  const read = await readForm(c)
  const given = read(formKeyField)
  const key = /^[\w-]{8,64}$/.test(given) ? given : c.var.context.clock.newId()
  formKeys.set(c, key)
  return key
}

/** Returns the key that the request was written with; null before. */
export const getFormKey = (c: PageContext): string | null => formKeys.get(c) ?? null
