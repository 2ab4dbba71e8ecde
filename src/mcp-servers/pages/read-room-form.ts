import { limits } from '../../config'
import { AppError } from '../../errors'

/**
 * The fields of a form by name; one that is missing or a file reads as ''.
 *
 * @throws TOO_LARGE
 */
export async function readRoomForm(request: Request): Promise<(name: string) => string> {
  if (Number(request.headers.get('content-length') ?? 0) > limits.requestBytesMax) {
    throw new AppError('TOO_LARGE', 'The request is too large.')
  }
  const form = await request.formData().catch(() => new FormData())
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
  }
}
