import { postgresLimits } from '../../config'
import { AppError } from '../../errors'
import { WireSocket } from './wire-socket'

/** Asks for TLS: length 8, code 80877103 (PostgreSQL's protocol, SSLRequest). */
const sslRequest = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47])
/** `S`: it does. */
const yes = 83

interface Target {
  hostname: string
  port: number
  isPlain: boolean
}

/**
 * TCP to a database, with TLS unless it is plain: the certificate is checked against the public
 * authorities and the host's name, which the runtime lets nobody switch off.
 */
export async function openSocket(target: Target): Promise<WireSocket> {
  const { connect } = await import('cloudflare:sockets')
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('timeout')), postgresLimits.connectMs)
  const plain = connect(`${target.hostname}:${target.port}`, {
    secureTransport: target.isPlain ? 'off' : 'starttls',
    allowHalfOpen: false,
  })
  try {
    return await Promise.race([late.promise, handshake(plain, target)])
  } catch (cause) {
    await plain.close().catch(() => undefined)
    if (cause instanceof AppError) throw cause
    throw new AppError('UNAVAILABLE', 'The database could not be reached.', { cause })
  } finally {
    clearTimeout(timer)
  }
}

async function handshake(plain: Socket, target: Target): Promise<WireSocket> {
  await plain.opened
  if (target.isPlain) return new WireSocket(plain)
  const writer = plain.writable.getWriter()
  await writer.write(sslRequest)
  writer.releaseLock()
  const reader = plain.readable.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  // More than the one byte would be somebody's words from before the encryption.
  if (value?.length !== 1 || value[0] !== yes) {
    throw new AppError('UNAVAILABLE', 'The database does not offer TLS.', {
      hint: 'For one in a private network an admin may declare ?sslmode=disable.',
    })
  }
  const secure = plain.startTls()
  await secure.opened
  return new WireSocket(secure)
}
