import { postgresLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { postgresErrors } from './errors'
import { WireSocket } from './wire-socket'

/** The request for TLS: length 8, code 80877103 (PostgreSQL's protocol, SSLRequest). */
const sslRequest = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47])
/** `S`: the server accepts TLS. */
const sslAccepted = 83

interface Target {
  hostname: string
  port: number
  isPlain: boolean
}

/**
 * Opens a TCP connection to a database, with TLS unless `isPlain`. The runtime always checks the
 * certificate against public authorities and the host name.
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
    throw postgresErrors.notReachable(cause)
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
  // More than one byte would be unencrypted data injected before the handshake.
  if (value?.length !== 1 || value[0] !== sslAccepted) throw postgresErrors.noTls()
  const secure = plain.startTls()
  await secure.opened
  return new WireSocket(secure)
}
