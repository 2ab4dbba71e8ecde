import { tooLarge } from '../../hub/http/errors'
import { limits } from '../../shared/config'
import type { PageContext } from './send-page'

/**
 * Reads a form; returns a function from field name to text. A missing field or a file is ''. Line
 * ends `\r\n`, which browsers send, become `\n`, so that limits count the characters typed.
 *
 * @throws TOO_LARGE
 */
export async function readForm(c: PageContext): Promise<(name: string) => string> {
  const length = Number(c.req.header('content-length') ?? 0)
  if (length > limits.requestBytesMax) throw tooLarge()
  const form = await c.req.formData().catch(() => new FormData())
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
  }
}
