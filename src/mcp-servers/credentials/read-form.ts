import { limits } from '../../shared/config'
import { credentialErrors } from './errors'

/**
 * Reads a submitted form.
 *
 * @returns a function from a field's name to its value; '' for a missing field or a file
 *
 * @throws TOO_LARGE
 */
export async function readForm(request: Request): Promise<(name: string) => string> {
  if (Number(request.headers.get('content-length') ?? 0) > limits.requestBytesMax) {
    throw credentialErrors.bodyTooLarge()
  }
  const form = await request.formData().catch(() => new FormData())
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
  }
}
