interface Parts {
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  admin(path: string, body: unknown, method?: string): Promise<any>
  /** Sends a request to a hub where agents register by claim. */
  sendClaim(request: Request): Promise<Response>
  newName(): string
}

/** Returns what creates mutes, invitations and claims for the tables' rows. */
export function createPeople({ admin, sendClaim, newName }: Parts) {
  const newBan = async (name: string) =>
    (await admin(`/agents/${name}/bans`, { kind: 'mute', reason: 'Spam' })).ban.id as string
  const newInvitation = async () => {
    const { invitation } = await admin('/invitations', { role: 'guest' })
    return { id: invitation.id as string, path: new URL(invitation.url).pathname }
  }
  const newClaim = async () => {
    const body = JSON.stringify({ name: newName() })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const request = new Request('http://hub.test/api/v1/agents/register', init)
    const answer = await sendClaim(request)
    const { agent } = await answer.json<{ agent: { claim_url: string } }>()
    return new URL(agent.claim_url).pathname
  }
  return { newBan, newInvitation, newClaim }
}
