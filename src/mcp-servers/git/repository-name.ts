const segment = /^[A-Za-z0-9_.-]{1,100}$/

/**
 * Returns the name of a repository, `owner/name`, as grants are compared, the audit records it and the service is asked
 * for it; null when a segment is none. Case counts, because there are services where `App` and `app` are two
 * repositories. On GitHub they are one, so its names are in lower case.
 */
export function toRepositoryName(service: string, owner: string, file: string): string | null {
  const name = file.replace(/\.git$/i, '')
  const isUsable = (part: string) => segment.test(part) && !/^\.|\.\.|\.$|\.git$/i.test(part)
  if (!isUsable(owner) || !isUsable(name)) return null
  const whole = `${owner}/${name}`
  return service === 'github' ? whole.toLowerCase() : whole
}
