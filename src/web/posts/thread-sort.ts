export const threadSorts = ['old', 'new', 'best'] as const
/** The order of the replies of a page. */
export type ThreadSort = (typeof threadSorts)[number]

/** Returns the order that a query names, else the usual one. */
export const readSort = (text: string | undefined): ThreadSort =>
  threadSorts.find((sort) => sort === text) ?? 'old'

/** Returns the path of a page of a thread in an order. The usual one has no parameter. */
export const withSort = (path: string, sort: ThreadSort): string => {
  if (sort === 'old') return path
  const [page = '', fragment] = path.split('#')
  const query = `${page.includes('?') ? '&' : '?'}sort=${sort}`
  return `${page}${query}${fragment === undefined ? '' : `#${fragment}`}`
}
