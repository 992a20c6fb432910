// Offers this page in other versions, if the site has several (tools/docs_site.py).
"use strict";
{
  const select = document.getElementById("versions");
  const root = new URL(select.dataset.root, location.href);
  const folder = (version) => new URL(`../${version}/`, root);

  const offer = async () => {
    const list = await fetch(new URL("../versions.json", root));
    if (!list.ok) return;
    for (const version of await list.json()) {
      const isThis = folder(version).href === root.href;
      select.add(new Option(version, version, isThis, isThis));
    }
    select.closest(".versions").hidden = select.length < 2;
  };

  const go = async () => {
    const page = location.pathname.slice(root.pathname.length);
    const same = new URL(page, folder(select.value));
    const answer = await fetch(same, { method: "HEAD" }).catch(() => null);
    location.href = answer?.ok ? same : folder(select.value);
  };

  select.addEventListener("change", go);
  offer().catch(() => {});  // a single version, or pages that were opened as files
}
