// Credentials of a hub; the client's types are those of the hub's own routes, without the ones of tools.

/**
 * Returns how many credentials a hub has, and the names of those that its current vault key does not open.
 * @param {import('../client/index.ts').HubClient} client
 * @returns {Promise<{ count: number, sealed: string[] }>}
 */
export async function readCredentials(client) {
  const response = await fetch(`${client.url}/api/v1/credentials`, { headers: client.headers })
  if (!response.ok) throw new Error(`GET /credentials: ${response.status}`)
  /** @type {{ credentials: { name: string, key: string | null }[] }} */
  const { credentials } = await response.json()
  const sealed = credentials.filter(({ key }) => key === 'old').map(({ name }) => name)
  return { count: credentials.length, sealed }
}
