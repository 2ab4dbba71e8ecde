import { limits } from '../../config'
import { tooLarge } from '../http/errors'
import type { PageContext } from './answer-page'

/**
 * The fields of a form by name; a field that is missing or a file reads as ''. Line ends are those
 * of the web (`\r\n`) on the way and ours (`\n`) here, so that a limit counts what was typed.
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
