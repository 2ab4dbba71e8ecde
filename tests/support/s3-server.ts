import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { awsKey } from './aws-key.ts'
import type { Peer } from './listen.ts'

interface S3Server {
  run(): Promise<{ port: number }>
  httpServer: { closeAllConnections(): void }
  close(): Promise<void>
}

const require = createRequire(import.meta.url)

/** Maps DES, used for page tokens, to the name that OpenSSL 3 supports. */
function aliasDes(): void {
  const crypto = require('node:crypto')
  const { createCipheriv, createDecipheriv } = crypto
  const lend =
    (make: (...args: unknown[]) => unknown) =>
    (name: string, key: Buffer, ...rest: unknown[]) =>
      name === 'des'
        ? make('des-ede3-cbc', Buffer.concat([key, key, key]), ...rest)
        : make(name, key, ...rest)
  crypto.createCipheriv = lend(createCipheriv)
  crypto.createDecipheriv = lend(createDecipheriv)
}

/** Starts an S3 server that checks signatures, with two buckets, deleted when it stops. */
export async function startS3(): Promise<Peer> {
  const Server: new (options: object) => S3Server = require('@20minutes/s3rver')
  const { DUMMY_ACCOUNT } = require('@20minutes/s3rver/lib/models/account')
  aliasDes()
  DUMMY_ACCOUNT.createKeyPair(awsKey.access_key_id, awsKey.secret_access_key)
  const directory = mkdtempSync(join(tmpdir(), 'rookery-s3-'))
  const server = new Server({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: 'artifacts' }, { name: 'private' }],
  })
  const { port } = await server.run()
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.httpServer.closeAllConnections()
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
