import { httpErrors } from '../../hub/http/page-entry'
import type { PageContext } from './send-page'

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

async function readFields(c: PageContext): Promise<FormData> {
  // A form without fields has no body, and programs send none of its type then.
  if (c.req.header('content-type') === undefined) return new FormData()
  try {
    return await c.req.formData()
  } catch (cause) {
    throw httpErrors.malformedForm(cause)
  }
}
