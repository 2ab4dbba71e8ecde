/** Signs a webhook as the Standard Webhooks specification has it. @param secret `whsec_` and base64 */
export async function signWebhook(
  secret: string,
  { id, at, text }: { id: string; at: number; text: string },
): Promise<Record<string, string>> {
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (char) => char.charCodeAt(0))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['sign'])
  const time = String(Math.floor(at / 1_000))
  const signed = new TextEncoder().encode(`${id}.${time}.${text}`)
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))
  const signature = btoa(String.fromCharCode(...bytes))
  return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` }
}
