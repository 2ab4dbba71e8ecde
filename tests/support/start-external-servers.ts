import { startFakeAws } from './fake-aws.ts'
import { startFakeBrave } from './fake-brave.ts'
import { startFakeGithub } from './fake-github.ts'
import { startMcpPeers } from './mcp-peers.ts'
import { startOauthPeer } from './oauth-peer.ts'
import { startS3 } from './s3-server.ts'

/** Starts the external servers that tools call. Returns their URLs. */
export async function startExternalServers() {
  const started = {
    github: await startFakeGithub(),
    brave: await startFakeBrave(),
    aws: await startFakeAws(),
    s3: await startS3(),
    mcp: await startMcpPeers(),
    oauth: await startOauthPeer(),
  }
  const urls = Object.fromEntries(Object.entries(started).map(([name, { url }]) => [name, url]))
  return {
    urls,
    close: async () => {
      await Promise.all(Object.values(started).map((each) => each.close()))
    },
  }
}
