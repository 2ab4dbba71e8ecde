/**
 * Reads a submitted form.
 *
 * @returns a function from a field's name to its value; '' for a missing field or a file
 */
export async function readForm(request: Request): Promise<(name: string) => string> {
  const form = await request.formData().catch(() => new FormData())
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
  }
}
