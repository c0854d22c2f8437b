// What is wrong with the page as it is shown: a list of texts. `check_pages.py` runs it.
() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  const named = (element) => {
    const name = element.classList && element.classList.length ? "." + [...element.classList].join(".") : "";
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${element.tagName.toLowerCase()}${name}> "${text}"`;
  };

  // Whether a part that is too wide scrolls by itself, or is cut off.
  const clips = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") return true;
    }
    return false;
  };
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.body.querySelectorAll("*")]
      .filter((one) => one.getBoundingClientRect().right > width + 1 && !clips(one))
      .filter((one) => getComputedStyle(one).position !== "fixed");
    // The innermost ones say what is too wide.
    const inner = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)));
    const which = inner.slice(0, 3).map(named).join(", ");
    found.push(`overflow: the page is ${document.documentElement.scrollWidth} wide, not ${width}: ${which}`);
  }

  for (const image of document.images) {
    if (image.complete && image.naturalWidth === 0) found.push(`image: ${image.getAttribute("src")} is not there`);
    if (!image.alt) found.push(`image: ${image.getAttribute("src")} has no text for those who cannot see it`);
  }
  if (document.querySelectorAll("h1").length !== 1) {
    found.push(`headings: got ${document.querySelectorAll("h1").length} of the first level, expected 1`);
  }

  // Contrast of text as in WCAG 2: at least 4.5, or 3 where it is large.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const cache = new Map();
  const colour = (text) => {
    if (!cache.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      cache.set(text, [red, green, blue, alpha / 255]);
    }
    return cache.get(text);
  };
  // The page's own background, where nothing has a colour; a canvas does not know the scheme.
  const probe = document.createElement("div");
  probe.style.backgroundColor = "Canvas";
  document.body.append(probe);
  const canvasColour = colour(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = colour(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), canvasColour);
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const seen = new Set();
  const reported = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element || seen.has(element)) continue;
    seen.add(element);
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const drawn = element instanceof SVGElement;
    const behind = background(element);
    const text = [...colour(drawn ? style.fill : style.color)];
    text[3] *= opacity;
    const [bright, dark] = [luminance(over(text, behind)), luminance(behind)].sort((a, b) => b - a);
    const contrast = (bright + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast >= (large ? 3 : 4.5)) continue;
    // One line for each pair of colours.
    const pair = `${drawn ? style.fill : style.color} on rgb(${behind.slice(0, 3).map(Math.round)})`;
    if (!reported.has(pair)) found.push(`contrast: ${contrast.toFixed(2)} of ${pair}: ${named(element)}`);
    reported.add(pair);
  }
  return found;
}
